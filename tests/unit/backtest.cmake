# SPDX-License-Identifier: Apache-2.0
memtamer_unit(backtest_trace USES recommender_backtest)
memtamer_unit(backtest_walk USES recommender_backtest)
memtamer_unit(backtest_compare USES recommender_backtest)
memtamer_alloc(alloc_backtest recommender_backtest)
