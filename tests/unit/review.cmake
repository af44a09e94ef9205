if(TARGET webhook_review)
  memtamer_unit(review_cmd USES webhook_review)
endif()
