memtamer_unit(yaml USES yaml)
