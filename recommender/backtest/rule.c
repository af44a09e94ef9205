/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/rule.h"

#include "base/str.h"

const struct rule *const rules[] = {
	&rule_memtamer, &rule_krr, &rule_vpa_p90, &rule_vpa_p95, &rule_peak_20, &rule_oracle,
};
const size_t n_rules = ARRAY_LEN(rules);

const struct rule *rule_find(const char *name)
{
	for (size_t i = 0; i < n_rules; i++)
		if (streq(rules[i]->name, name))
			return rules[i];
	return NULL;
}
