memtamer_unit(base USES base)
memtamer_unit(gzip USES base)
memtamer_unit(log USES base)
memtamer_unit(json_split USES base)
