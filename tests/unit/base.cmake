memtamer_unit(base USES base)
