# SPDX-License-Identifier: Apache-2.0
memtamer_unit(triage_lines USES recommender_triage)
memtamer_unit(triage_signals USES recommender_triage)
memtamer_unit(triage_rules USES recommender_triage)
memtamer_unit(triage_gangs USES recommender_triage)
memtamer_unit(triage_stated USES recommender_triage)
memtamer_unit(triage_node USES recommender_triage)
memtamer_unit(triage_verify USES recommender_triage)
