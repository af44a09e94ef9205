memtamer_unit(quantity USES k8s)
memtamer_unit(pod USES k8s)
memtamer_unit(review_json USES k8s)
