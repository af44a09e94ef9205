# SPDX-License-Identifier: Apache-2.0
memtamer_unit(postmortem USES recommender_postmortem)
