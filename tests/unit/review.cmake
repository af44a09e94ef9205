memtamer_unit(review_cmd USES webhook_review)
