/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* certificates: loads the server's certificate and client CA, from files, from a shared Secret, or self-made.
 *
 * Files are compared by content, because the kubelet updates a Secret's files by swapping a symlink. A pair that is
 * invalid leaves the old one in use and is reported once. Without files, memtamer makes a CA at start and keeps it in
 * memory only; its leaf is renewed after two thirds of its lifetime and when its names change. Replicas in a cluster
 * can share a Secret (certs/certs.h): its certificate is passed to certificates_give; until then the self-made one
 * answers probes, and the server is not ready. Callers pass the time. Threads: the control thread only. */
#include "config/config.h"
#include "http_server/http_server.h"

struct certificates;

/** `server` is borrowed. NULL: out of memory. */
struct certificates *certificates_new(struct http_server *server) ATTR_NODISCARD;
void certificates_free(struct certificates *self);
/** Checks the files, or the age of the self-made leaf, and passes a new certificate to the server.
 *  @return 0 no change; CERTIFICATES_LOADED; <0: `err` says what is wrong (err->where: the file). An error is returned
 *  once. */
#define CERTIFICATES_LOADED 1
int certificates_check(struct certificates *self, const struct webhook_config *config, int64_t now_ms,
		       struct err *err) ATTR_NODISCARD;
/** Makes the next check load everything, even without a change. */
void certificates_forget(struct certificates *self);
/** Whether the certificate comes from certificates_give from now on. */
void certificates_share(struct certificates *self, bool is_shared);
/** Uses this certificate and key (PEM, copied). @return CERTIFICATES_LOADED; 0 it is in use already; <0: the old one
 *  stays in use. */
int certificates_give(struct certificates *self, const struct webhook_config *config, const char *cert_pem,
		      const char *key_pem, int64_t now_ms, struct err *err) ATTR_NODISCARD;
/** Whether the server presents the certificate that clients expect. */
bool certificates_is_ready(const struct certificates *self);
/** When the certificate in use ends, ms since 1970; 0: none. */
int64_t certificates_expiry_ms(const struct certificates *self);
/** The certificate chain that clients expect (PEM); NULL: none yet. Borrowed until the next check. */
const char *certificates_chain(const struct certificates *self);
/** The self-made CA (PEM); NULL: none, or the certificate is shared. Borrowed until it is freed. */
const char *certificates_own_ca(const struct certificates *self);
