/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that calls GnuTLS. Credentials are immutable and have a reference count: the server holds one reference
 * to the current ones, and each connection one to those that it started with. libmicrohttpd's own method (a certificate
 * callback) cannot rotate client CAs, and requests a client certificate without requiring it. */
#include "http_server/server_internal.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct credentials {
	atomic_uint references;
	gnutls_certificate_credentials_t gnutls;
	bool wants_client;
	char *client_name; /* NULL: any */
};

struct credentials *credentials_unref(struct credentials *self)
{
	if (!self || atomic_fetch_sub(&self->references, 1) > 1)
		return NULL;
	if (self->gnutls)
		gnutls_certificate_free_credentials(self->gnutls);
	free(self->client_name);
	free(self);
	return NULL;
}

void tls_detach(struct connection *connection)
{
	connection->credentials = credentials_unref(connection->credentials);
}

bool credentials_want_client(const struct credentials *self)
{
	return self->wants_client;
}

int tls_no_certificate(void)
{
	return -1;
}

static void refuse(struct connection *connection, const char *reason)
{
	connection->is_refused = true;
	server_report(connection->server, HTTP_EVENT_CLIENT_REFUSED, reason, connection->peer);
}

static bool has_common_name(gnutls_x509_crt_t cert, const char *name)
{
	char text[256];
	size_t size = sizeof(text);

	return !gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &size) &&
	       streq(text, name);
}

static bool has_alternative_name(gnutls_x509_crt_t cert, const char *name)
{
	for (unsigned int i = 0;; i++) {
		char text[256];
		size_t size = sizeof(text) - 1;
		int type = gnutls_x509_crt_get_subject_alt_name(cert, i, text, &size, NULL);

		if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			return false;
		if (type != GNUTLS_SAN_DNSNAME && type != GNUTLS_SAN_URI && type != GNUTLS_SAN_RFC822NAME)
			continue; /* another kind of name, or longer than the wanted one */
		if (size == strlen(name) && memcmp(text, name, size) == 0)
			return true;
	}
}

static bool is_named(gnutls_session_t session, const char *name)
{
	unsigned int n = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
	gnutls_x509_crt_t cert;
	bool is_match;

	if (!chain || n == 0 || gnutls_x509_crt_init(&cert))
		return false;
	is_match = !gnutls_x509_crt_import(cert, &chain[0], GNUTLS_X509_FMT_DER) &&
		   (has_common_name(cert, name) || has_alternative_name(cert, name));
	gnutls_x509_crt_deinit(cert);
	return is_match;
}

static void status_text(unsigned int status, char *buf, size_t size)
{
	gnutls_datum_t text = {NULL, 0};

	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0))
		snprintf(buf, size, "the certificate is not trusted");
	else
		snprintf(buf, size, "%s", (const char *)text.data);
	gnutls_free(text.data);
}

/* Verifies the client's certificate. @return 0; any other value ends the handshake, and the peer only sees the
 * connection end. */
static int verify_client(gnutls_session_t session)
{
	struct connection *connection = gnutls_session_get_ptr(session);
	char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT, reason[300];
	gnutls_typed_vdata_st data = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose};
	const char *name = connection->credentials->client_name;
	unsigned int status = 0;
	int r = gnutls_certificate_verify_peers(session, &data, 1, &status);

	if (r < 0) {
		snprintf(reason, sizeof(reason), "no usable client certificate: %s", gnutls_strerror(r));
	} else if (status) {
		status_text(status, reason, sizeof(reason));
	} else if (name && !is_named(session, name)) {
		snprintf(reason, sizeof(reason), "the client certificate is not for %s", name);
	} else {
		return 0;
	}
	refuse(connection, reason);
	return GNUTLS_E_CERTIFICATE_ERROR;
}

/* Called for the client's last message of the handshake. */
static int on_finished(gnutls_session_t session, unsigned int type, unsigned int when, unsigned int is_incoming,
		       const gnutls_datum_t *message)
{
	struct connection *connection = gnutls_session_get_ptr(session);

	(void)type, (void)when, (void)message;
	if (is_incoming)
		connection->is_handshaking = false;
	return 0;
}

int tls_attach(struct connection *connection, struct MHD_Connection *mhd)
{
	struct http_server *server = connection->server;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_session_t session = info ? info->tls_session : NULL;

	pthread_mutex_lock(&server->mutex);
	if (server->current)
		atomic_fetch_add(&server->current->references, 1);
	connection->credentials = server->current;
	pthread_mutex_unlock(&server->mutex);
	if (!session || !connection->credentials)
		return -EIO;
	/* libmicrohttpd uses this pointer for pre-shared keys only, which this server does not use */
	gnutls_session_set_ptr(session, connection);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, connection->credentials->gnutls))
		return -EIO;
	gnutls_certificate_server_set_request(session, connection->credentials->wants_client ? GNUTLS_CERT_REQUIRE
											     : GNUTLS_CERT_IGNORE);
	return 0;
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned int)strlen(text)};
}

static int load_client_ca(struct credentials *self, const char *pem, const char *name, struct err *err)
{
	const gnutls_datum_t ca = datum(pem);
	int n = gnutls_certificate_set_x509_trust_mem(self->gnutls, &ca, GNUTLS_X509_FMT_PEM);

	if (n <= 0)
		return err_set(err, -EINVAL, "client CA: %s", n ? gnutls_strerror(n) : "no certificate in it");
	self->wants_client = true;
	self->client_name = name ? strdup(name) : NULL;
	if (name && !self->client_name)
		return err_set(err, -ENOMEM, "out of memory");
	gnutls_certificate_set_verify_function(self->gnutls, verify_client);
	return 0;
}

static int credentials_new(const char *cert_pem, const char *key_pem, const char *client_ca_pem,
			   const char *client_name, struct credentials **ret, struct err *err)
{
	struct credentials *self = calloc(1, sizeof(*self));
	const gnutls_datum_t cert = datum(cert_pem), key = datum(key_pem);
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	atomic_init(&self->references, 1);
	r = gnutls_certificate_allocate_credentials(&self->gnutls);
	if (r) {
		self->gnutls = NULL;
		r = err_set(err, -ENOMEM, "%s", gnutls_strerror(r));
	} else {
		/* also detects a key that does not belong to the certificate */
		r = gnutls_certificate_set_x509_key_mem(self->gnutls, &cert, &key, GNUTLS_X509_FMT_PEM);
		r = r < 0 ? err_set(err, -EINVAL, "certificate and key: %s", gnutls_strerror(r)) : 0;
	}
	if (!r && client_ca_pem)
		r = load_client_ca(self, client_ca_pem, client_name, err);
	if (r)
		credentials_unref(self);
	else
		*ret = self;
	return r;
}

int http_server_set_credentials(struct http_server *self, const char *cert_pem, const char *key_pem,
				const char *client_ca_pem, const char *client_name, struct err *err)
{
	struct credentials *fresh = NULL, *old;
	int r = credentials_new(cert_pem, key_pem, client_ca_pem, client_name, &fresh, err);

	if (r)
		return r;
	pthread_mutex_lock(&self->mutex);
	old = self->current;
	self->current = fresh;
	pthread_mutex_unlock(&self->mutex);
	credentials_unref(old);
	return 0;
}
