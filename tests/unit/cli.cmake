memtamer_unit(cli USES cli)
