/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rotation_internal: shared by rotation.c (the next step) and rotation_trust.c (who trusts what). Private to certs/. */
#include "certs/rotation.h"

#include <stddef.h>

bool rotation_same_id(const unsigned char *a, const unsigned char *b);
/** The index of a certificate; `n`: the bundle does not contain it. */
size_t rotation_find(const struct rotation_bundle *bundle, const unsigned char *id);
bool rotation_has(const struct rotation_bundle *bundle, const unsigned char *id);
/** Whether a CA has ended by every clock. */
bool rotation_has_ended(const struct rotation_view *view, const struct rotation_cert *cert);
/** Whether a leaf can be used now. */
bool rotation_is_alive(const struct rotation_view *view, const struct rotation_leaf *leaf);
/** When the last leaf of a CA of the Secret ends; the CA's own end if unknown. */
int64_t rotation_last_end_ms(const struct rotation_cert *cert);
/** Whether this CA of the Secret signs new leaves, signed the Secret's leaf, or signed the leaf in use, whatever end a
 * restored Secret contains. */
bool rotation_signs_or_signed(const struct rotation_view *view, size_t ca);
/** Whether this CA of the Secret has ended by every clock. Between the end of rotation_wants and this time nobody adds
 * or removes it, because replicas with different clocks would undo each other's work. */
bool rotation_is_over(const struct rotation_view *view, size_t ca);
/** How long until every API server that calls us trusts leaves of this CA; 0 or less: now; INT64_MAX: the CA is not
 * everywhere yet. */
int64_t rotation_settles_in_ms(const struct rotation_view *view, const unsigned char *id);
/** Whether any API server trusts anything yet. Before the first caBundle nothing can break. Certificates that have
 * ended count, because our copy of a configuration may be out of date. */
bool rotation_is_anything_trusted(const struct rotation_view *view);
/** Whether any configuration contains it. */
bool rotation_is_held(const struct rotation_view *view, const unsigned char *id);
/** Whether it is a certificate of others in a long caBundle, which memtamer does not change. */
bool rotation_is_left_alone(const struct rotation_view *view, const struct rotation_bundle *entry, size_t i);
