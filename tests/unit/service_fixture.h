/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* service_fixture: a client of an API server that plays steps, and the objects that it answers with. */
#include "support/test.h"

#include "fake_api.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"
#include "support/kubectl.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATUS(code, reason)                                                                                           \
	"{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"the words of the server\"}"
#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"

/* The dry run of the probe, and a webhook's mark on it. */
#define DRY_RUN "POST /api/v1/namespaces/memtamer/configmaps?dryRun=All"
#define MARKED	"{\"metadata\":{\"annotations\":{\"memtamer.io/probed-by\":\"webhook-1\"}}}"

#define NODE(name, version, labels, gpus)                                                                              \
	"{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\",\"labels\":{" labels                 \
	"}},\"status\":{\"allocatable\":{\"memory\":\"64Gi\"" gpus "}}}"
#define GPUS(n) ",\"nvidia.com/gpu\":\"" n "\""

/* The event of a pod that a quota refused. */
#define REFUSED(name, uid)                                                                                             \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" name                                    \
	"\"},\"involvedObject\":{\"kind\":\"Job\",\"name\":\"train\",\"uid"                                            \
	"\":\"" uid "\"},\"reason\":\"FailedCreate\",\"message\":\"exceeded quota: q, requested: "                     \
	"requests.memory=2Gi, used: requests.memory=3Gi, limited: requests.memory=4Gi\"}"

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
};

static inline void world_start(struct world *world, const struct fake_step *steps)
{
	*world = (struct world){.api = fake_api_start(steps)};
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, NULL), 0);
}

static inline void world_stop(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static inline void poll_once(struct world *world)
{
	assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, NULL), 0);
	assert_int_equal(fake_api_unexpected(world->api), 0); /* else it would be waited for in vain */
}

/* A request that a step waits for. */
static inline void ask_for_release(struct fake_api *api)
{
	static const char request[] = "GET /release HTTP/1.1\r\nHost: test\r\n\r\n";
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer;

	to.sin_port = htons((uint16_t)strtoul(strrchr(fake_api_url(api), ':') + 1, NULL, 10));
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	assert_int_equal(read(fd, &answer, 1), 1);
	close(fd);
}
