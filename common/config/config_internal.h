/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* config_internal: the table of keys and the loaded configuration, shared by the files of config. */
#include "base/arena.h"
#include "config/config.h"
#include "k8s/quantity.h"
#include "yaml/yaml_tree.h"

enum config_type_id {
	CONFIG_STRING,	    /* const char *, NULL when empty */
	CONFIG_NAME,	    /* char[max + 1] */
	CONFIG_ENUM,	    /* an enum: index of the choice */
	CONFIG_CHOICE,	    /* const char *: the choice itself */
	CONFIG_BOOL,	    /* bool */
	CONFIG_INTEGER,	    /* int64_t */
	CONFIG_INTEGER32,   /* int32_t */
	CONFIG_DURATION,    /* int64_t ms */
	CONFIG_QUANTITY,    /* int64_t bytes */
	CONFIG_FRACTION,    /* int32_t permille; "5%" or 0.05 */
	CONFIG_FILE,	    /* const char *: a path, made absolute with the configuration's folder; NULL when empty */
	CONFIG_URL,	    /* const char *: http or https, without trailing slash */
	CONFIG_LISTEN,	    /* const char *: address:port */
	CONFIG_LIST,	    /* const char *const *: NULL-terminated */
	CONFIG_HEADERS,	    /* name: value; headers and n_headers of the Prometheus part */
	CONFIG_CHECKS,	    /* check: action; policy.actions */
	CONFIG_NODE_SHAPES, /* list of node shapes */
	CONFIG_VERSION,	    /* apiVersion, a constant */
};

struct config_key {
	const char *path; /* "webhook.tls.certFile" */
	enum config_type_id type;
	size_t offset;	      /* in struct config or struct node_shape */
	const char *fallback; /* default, as written in the file; items of lists are separated by ", "; NULL: needed */
	int64_t min, max;     /* in the unit of the type; both 0: not checked */
	const char *choices;  /* "a|b" in the order of the enum */
	const char *help;     /* one sentence */
};

struct config_loader;

/** What depends on the type of a key. */
struct config_type {
	const char *name; /* for the documentation */
	enum yaml_type wants;
	/* NULL: it has members (config_parts.c) */
	int (*decode)(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node);
	/* of numbers */
	int (*parse)(const char *text, size_t n, int64_t *ret);
	const char *form; /* for messages */
};
/** By enum config_type_id. */
extern const struct config_type config_types[];

#define CONFIG_KEYS 96 /* most keys */

struct config_table {
	const struct config_key *keys;
	size_t n;
};
/** The keys of a configuration, in the order of the documentation and of --print-config. */
extern const struct config_table config_table;
/** The keys of an item of nodeShapes. */
extern const struct config_table config_shape_table;

/** A configuration with the memory that it owns. */
struct config_own {
	struct config public; /* first, because callers have a pointer to it */
	struct arena arena;
	size_t key_lines[CONFIG_KEYS];	  /* line where a key was set; 0: default */
	size_t check_lines[CHECK_COUNT_]; /* the same for checks.<id> */
};

/** State of one load: the place for errors, the start of relative paths, and the mapping whose keys are decoded. */
struct config_loader {
	struct config_own *own;
	const char *name, *folder;
	struct err *err;
	const struct config_table *table; /* keys of the mapping */
	const char *prefix;		  /* of their paths in messages: "" or "nodeShapes[]." */
	void *base;			  /* struct that their offsets refer to */
	size_t *lines;			  /* line where each key was set; NULL: not kept */
};

/** Sets an error with the place of a node: "path: message". `path` is of the loader's table. @return -EINVAL. */
int config_fail(const struct config_loader *loader, const struct yaml_node *node, const char *path, const char *fmt,
		...) ATTR_PRINTF(4, 5);
int config_fail_memory(const struct config_loader *loader);
/** Decodes a single value or a list. Of types that have members it only checks that the value has the right form.
 *  @return 0; -EINVAL; -ENOMEM. */
int config_decode(const struct config_loader *loader, const struct config_key *key,
		  const struct yaml_node *node) ATTR_NODISCARD;
/** The same from the text of a default. */
int config_decode_text(const struct config_loader *loader, const struct config_key *key,
		       const char *text) ATTR_NODISCARD;
/** Decodes the members of a mapping. `section`, the path of the mapping in the loader's table, is "" or ends with a
 *  dot. @return 0; -EINVAL; -ENOMEM. */
int config_decode_mapping(const struct config_loader *loader, const char *section,
			  const struct yaml_node *node) ATTR_NODISCARD;
/** Parse one scalar into `ret`. @return 0; -EINVAL; -ERANGE. */
int config_parse_quantity(const char *text, size_t n, int64_t *ret_bytes) ATTR_NODISCARD;
int config_parse_integer(const char *text, size_t n, int64_t *ret) ATTR_NODISCARD;
/** Parses "5%", "12.5%", "0.05" or "1" into permille. @return 0; -EINVAL; -ERANGE it is finer than a permille. */
int config_parse_fraction(const char *text, size_t n, int64_t *ret_permille) ATTR_NODISCARD;
/** Writes a number as its type does: "5m", "32Mi", "12.5%", "3". Returns `buf`. */
const char *config_render_number(const struct config_key *key, int64_t value, char buf[QUANTITY_TEXT_BYTES]);
