memtamer_unit(review_cmd SOURCES review_run.c USES webhook_review)
memtamer_unit(review_input SOURCES review_run.c USES webhook_review)
memtamer_unit(review_skip SOURCES review_run.c USES webhook_review)
memtamer_unit(review_yaml SOURCES review_run.c USES webhook_review)
