memtamer_unit(yaml USES yaml)
memtamer_unit(yaml_emit USES yaml)
