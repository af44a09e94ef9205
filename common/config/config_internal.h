/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The parts of config that its files share: the table of keys and the whole of a loaded configuration. */
#include "base/arena.h"
#include "config/config.h"
#include "k8s/quantity.h"
#include "yaml/yaml_tree.h"

enum config_type {
	CONFIG_STRING,	    /* const char *, NULL when empty */
	CONFIG_ENUM,	    /* an enum: index of the choice */
	CONFIG_CHOICE,	    /* const char *: the choice itself */
	CONFIG_BOOL,	    /* bool */
	CONFIG_INTEGER,	    /* int64_t */
	CONFIG_INTEGER32,   /* int32_t */
	CONFIG_DURATION,    /* int64_t ms */
	CONFIG_QUANTITY,    /* int64_t bytes */
	CONFIG_FRACTION,    /* int32_t permille; "5%" or 0.05 */
	CONFIG_FILE,	    /* const char *: a path, made absolute by the config's folder; NULL when empty */
	CONFIG_URL,	    /* const char *: http or https, without trailing slash */
	CONFIG_LISTEN,	    /* const char *: address:port */
	CONFIG_LIST,	    /* const char *const *: NULL-terminated */
	CONFIG_HEADERS,	    /* name: value; headers and n_headers of the Prometheus part */
	CONFIG_CHECKS,	    /* check: action; policy.actions */
	CONFIG_NODE_SHAPES, /* list of node shapes */
	CONFIG_VERSION,	    /* apiVersion, the one constant */
};

struct config_key {
	const char *path; /* "webhook.tls.certFile" */
	enum config_type type;
	size_t offset;	      /* in struct config */
	const char *fallback; /* default as it would be written; lists with ", " between; "": none */
	int64_t min, max;     /* of the value in the unit of its type; both 0: not checked */
	const char *choices;  /* "a|b" in the order of the enum */
	const char *help;     /* one sentence */
};

#define CONFIG_KEYS 96 /* room for origins */

/** The keys, in the order of the docs and of --print-config. */
const struct config_key *config_keys(size_t *ret_n);

/** A key of an item of nodeShapes. */
enum config_shape_type { SHAPE_TEXT, SHAPE_COUNT, SHAPE_BYTES };
struct config_shape_field {
	const char *name;
	enum config_shape_type type;
	size_t offset, size; /* in struct node_shape */
	bool is_required;
	const char *help;
};
const struct config_shape_field *config_shape_fields(size_t *ret_n);

/** A configuration with what it owns. */
struct config_own {
	struct config public; /* first: struct config * of callers is this */
	struct arena arena;
	size_t key_lines[CONFIG_KEYS];	  /* where a key was set; 0: default */
	size_t check_lines[CHECK_COUNT_]; /* the same for checks.<id> */
};

/** One load: where errors are and what relative paths start from. */
struct config_loader {
	struct config_own *own;
	const char *name, *folder;
	struct err *err;
};

/** Error at a node: "path: message". */
int config_fail(const struct config_loader *loader, const struct yaml_node *node, const char *path, const char *fmt,
		...) ATTR_PRINTF(4, 5);
int config_fail_memory(const struct config_loader *loader);
/** Decode one value into the struct. */
int config_decode(const struct config_loader *loader, const struct config_key *key,
		  const struct yaml_node *node) ATTR_NODISCARD;
/** The same from the text of a default. */
int config_decode_text(const struct config_loader *loader, const struct config_key *key,
		       const char *text) ATTR_NODISCARD;
/** Types with an inside of their own. */
int config_decode_headers(const struct config_loader *loader, const struct yaml_node *node) ATTR_NODISCARD;
int config_decode_checks(const struct config_loader *loader, const struct yaml_node *node) ATTR_NODISCARD;
int config_decode_shapes(const struct config_loader *loader, const struct yaml_node *node) ATTR_NODISCARD;
/** A scalar of a shape or a key into `ret`. */
int config_parse_quantity(const char *text, size_t n, int64_t *ret_bytes) ATTR_NODISCARD;
int config_parse_integer(const char *text, size_t n, int64_t *ret) ATTR_NODISCARD;
/** Permille of "5%", "12.5%", "0.05", "1". 0; -EINVAL; -ERANGE when finer than a permille. */
int config_parse_fraction(const char *text, size_t n, int64_t *ret_permille) ATTR_NODISCARD;
/** What no single key can check: pairs that need each other. */
int config_check_pairs(const struct config_loader *loader) ATTR_NODISCARD;

/** Number of a key as its type writes it: "5m", "32Mi", "12.5%", "3". */
const char *config_render_number(const struct config_key *key, int64_t value, char buf[QUANTITY_TEXT_BYTES]);

static inline void *config_field(struct config *config, const struct config_key *key)
{
	return (char *)config + key->offset;
}

static inline const void *config_field_const(const struct config *config, const struct config_key *key)
{
	return (const char *)config + key->offset;
}
