/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_server: the address of the API server and how requests are authenticated. */

struct kubectl;

/** NULL: not set. */
struct kube_server {
	const char *url;	 /* http or https; with `kubectl` it is used in messages only */
	const char *ca_file;	 /* PEM; NULL: the system's */
	const char *token_file;	 /* read for each request, so a rotated token is used */
	struct kubectl *kubectl; /* requests go through its proxy, which adds the credentials; borrowed */
};
