/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* allocator: the environment variables that configure PyTorch's GPU allocator, and the setting that memtamer knows.
 * Before 2.9 each kind of device had its own variable; 2.9 reads the new one, and still the older ones. */
#define ALLOCATOR_VARIABLE	"PYTORCH_ALLOC_CONF"
#define ALLOCATOR_VARIABLE_CUDA "PYTORCH_CUDA_ALLOC_CONF"
#define ALLOCATOR_VARIABLE_HIP	"PYTORCH_HIP_ALLOC_CONF"
#define ALLOCATOR_SETTING	"expandable_segments:True"
