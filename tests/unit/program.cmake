# SPDX-License-Identifier: Apache-2.0
memtamer_unit(log_buffer USES program Threads::Threads)
set_property(TEST unit-log_buffer APPEND PROPERTY LABELS threads)
