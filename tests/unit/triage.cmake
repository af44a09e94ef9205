# SPDX-License-Identifier: Apache-2.0
memtamer_unit(triage_lines USES recommender_triage)
memtamer_unit(triage_signals USES recommender_triage)
memtamer_unit(triage_rules USES recommender_triage)
memtamer_unit(triage_kernel USES recommender_triage)
memtamer_unit(triage_holders USES recommender_triage)
memtamer_unit(triage_node USES recommender_triage)
memtamer_unit(triage_verify USES recommender_triage)
