/* SPDX-License-Identifier: Apache-2.0 */
/* size_carry: sets the pod as it will be to the proposals that are open. */
#include "policy/size/size_fit.h"

#include "k8s/quantity.h"

void fit_carry_out(struct deciding *self, struct sized *item)
{
	struct k8s_resources *resources = &item->after->resources;

	STEPS_BULK(sizeof(*resources));
	*resources = self->facts->pod.containers[item->after - self->after.containers].resources;
	for (int i = 0; i < SIZED_COUNT_; i++) {
		enum k8s_resource resource = sized_resource_of((enum sized_resource)i);
		struct k8s_amount *amounts[2] = {&resources->requests[resource], &resources->limits[resource]};

		for (int f = 0; f < 2; f++) {
			const struct proposal *proposal = &item->fields[i][f].proposal;

			if (proposal->gate != GATE_OPEN)
				continue;
			*amounts[f] = (struct k8s_amount){.text = "",
							  .quantity = quantity_from_bytes(proposal->to_bytes),
							  .value = proposal->to_bytes};
			resources->is_present = resources->has_requests = true;
			resources->has_limits |= f == LIMIT;
		}
	}
}

void fit_carry_out_all(struct deciding *self)
{
	for (size_t i = 0; i < self->n_items; i++)
		fit_carry_out(self, &self->items[i]);
}
