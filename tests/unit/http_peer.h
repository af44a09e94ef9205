/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_peer: a client of http_server that says what it likes, byte by byte, over plain HTTP on 127.0.0.1. */
#include "http_server/http_server.h"

/** A connected socket, the caller's to close. */
int peer_dial(struct http_server *server);
/** The same from another address, which the server counts as another client. */
int peer_dial_elsewhere(struct http_server *server);
/** The same with a small receive buffer: the server cannot send a large answer before it is read. */
int peer_dial_narrow(struct http_server *server);
/** false: the server has ended the connection. */
bool peer_send(int fd, const char *bytes, size_t n);
void peer_send_text(int fd, const char *text);
/** All until the server closes. */
void peer_read_to_end(int fd, struct strbuf *answer);
/** One request on a kept connection; the status, or 0 when the connection ended. */
int peer_ask(int fd, const char *request);
