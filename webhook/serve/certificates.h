/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* certificates: what the server shows and whom it trusts, from files or of our own making.
 * Files are compared by content, because a Secret's files change by a swapped symlink; a broken pair leaves the old one
 * in use and is reported once. Without files a CA is made at start, kept in memory only, and its leaf is renewed when
 * two thirds of its life are over, or when it is to have other names. In a cluster where the replicas share a Secret
 * (certs/certs.h), what that says is given; until then the own one answers probes, and is not ready. The clock is
 * passed in. Threads: the control thread only. */
#include "config/config.h"
#include "http_server/http_server.h"

struct certificates;

/** `server` is borrowed. NULL when memory is out. */
struct certificates *certificates_new(struct http_server *server) ATTR_NODISCARD;
void certificates_free(struct certificates *self);
/** Look at the files or at the age of the own leaf, and hand what is new to the server.
 *  @return 0 nothing new; CERTIFICATES_LOADED; <0: err says what is wrong (the file in err->where), told once. */
#define CERTIFICATES_LOADED 1
int certificates_check(struct certificates *self, const struct webhook_config *config, int64_t now_ms,
		       struct err *err) ATTR_NODISCARD;
/** Load even if nothing has changed, at the next check. */
void certificates_forget(struct certificates *self);
/** From now on a certificate is given (or, false, no more). */
void certificates_share(struct certificates *self, bool is_shared);
/** Use this one; copied. @return CERTIFICATES_LOADED; <0: the old one goes on. */
int certificates_give(struct certificates *self, const struct webhook_config *config, const char *cert_pem,
		      const char *key_pem, int64_t now_ms, struct err *err) ATTR_NODISCARD;
/** Is the server's certificate one that clients are meant to see? */
bool certificates_is_ready(const struct certificates *self);
/** End of the certificate in use, ms since 1970; 0: none. */
int64_t certificates_expiry_ms(const struct certificates *self);
/** PEM of what clients are meant to see; NULL: nothing yet. Borrowed until the next check. */
const char *certificates_chain(const struct certificates *self);
/** PEM of the own CA; NULL while there is none. */
const char *certificates_own_ca(const struct certificates *self);
