# SPDX-License-Identifier: Apache-2.0
memtamer_unit(kubeconfig USES kube)
memtamer_unit(kube_client SOURCES fake_api.c USES kube Threads::Threads)
set_property(TEST unit-kube_client APPEND PROPERTY LABELS threads)
