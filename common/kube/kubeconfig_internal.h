/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of kubeconfig share: the parsed files, and strict reading of one node with its place. */
#include "base/vec.h"
#include "kube/kubeconfig.h"
#include "yaml/yaml_tree.h"

struct kubeconfig_file {
	const char *path;
	const struct yaml_node *root; /* a mapping */
};

/** A mapping of one of the files, and its file for places and relative paths. */
struct kubeconfig_node {
	const struct kubeconfig_file *file;
	const struct yaml_node *node; /* NULL: absent */
};

struct kubeconfig_loader {
	struct kubeconfig *config;
	VEC(struct kubeconfig_file) files;
	struct err *err;
};

/** -EINVAL with the node's place. */
int kubeconfig_bad(struct kubeconfig_loader *self, const struct kubeconfig_file *file, const struct yaml_node *node,
		   const char *fmt, ...) ATTR_PRINTF(4, 5);
/** A string member; absent, null and empty are NULL. 0; -EINVAL when it is something else. */
int kubeconfig_string(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key,
		      const char **ret) ATTR_NODISCARD;
int kubeconfig_bool(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key,
		    bool *ret) ATTR_NODISCARD;
/** A path, relative to the file's folder. */
int kubeconfig_path(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key,
		    const char **ret) ATTR_NODISCARD;
/** Base64 of PEM text. */
int kubeconfig_pem(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key,
		   const char **ret) ATTR_NODISCARD;
/** `path` as seen from the folder of `file`. NULL: out of memory. */
const char *kubeconfig_resolve(struct kubeconfig_loader *self, const struct kubeconfig_file *file, const char *path);
int kubeconfig_no_memory(struct kubeconfig_loader *self);

/** The user's part: credentials. `cluster` for its exec extension. */
int kubeconfig_load_user(struct kubeconfig_loader *self, struct kubeconfig_node user,
			 struct kubeconfig_node cluster) ATTR_NODISCARD;
