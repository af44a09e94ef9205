/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kubectl: puts the fake tests/support/kubectl/kubectl first in PATH, and writes kubeconfigs for it. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void use_fake_kubectl(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/support/kubectl:%s", TEST_SOURCE_DIR, getenv("PATH"));
	assert_int_equal(setenv("PATH", path, 1), 0);
}

/* Writes a kubeconfig for that server. `path` ends in XXXXXX and is changed to the file's name. */
static inline void write_kubeconfig(char *path, const char *server)
{
	char text[1024];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"clusters\":[{\"name\":\"c\","
		 "\"cluster\":{\"server\":\"%s\"}}],"
		 "\"users\":[],\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"c\",\"namespace\":\"memtamer\"}"
		 "},"
		 "{\"name\":\"bare\",\"context\":{\"cluster\":\"c\"}}]}",
		 server);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}
