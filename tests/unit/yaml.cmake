memtamer_unit(yaml USES yaml)
memtamer_unit(yaml_alias USES yaml)
memtamer_unit(yaml_edit USES yaml)
