/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/steps.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

static uint64_t hash_key[2];
static pthread_once_t hash_once = PTHREAD_ONCE_INIT;

static void hash_seed(void)
{
	if (getrandom(hash_key, sizeof(hash_key), GRND_NONBLOCK) != (ssize_t)sizeof(hash_key)) {
		/* There is no entropy during early boot; an address is better than a constant. */
		hash_key[0] = (uint64_t)(uintptr_t)&hash_key;
		hash_key[1] = hash_key[0] * 0x9e3779b97f4a7c15u;
	}
}

static inline uint64_t rotl(uint64_t x, int b)
{
	return (x << b) | (x >> (64 - b));
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

uint64_t hash_seeded(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t v[4], last = (uint64_t)n << 56, m;

	pthread_once(&hash_once, hash_seed);
	STEPS(n / 8 + 4);
	v[0] = hash_key[0] ^ 0x736f6d6570736575u;
	v[1] = hash_key[1] ^ 0x646f72616e646f6du;
	v[2] = hash_key[0] ^ 0x6c7967656e657261u;
	v[3] = hash_key[1] ^ 0x7465646279746573u;
	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&m, p, 8);
		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	m = 0;
	if (n)
		memcpy(&m, p, n);
	last |= m;
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_stable(uint64_t state, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	STEPS(n);
	for (size_t i = 0; i < n; i++)
		state = (state ^ p[i]) * 0x100000001b3u;
	return state;
}

uint64_t hash_stable_text(uint64_t state, const char *text)
{
	return text ? hash_stable(state, text, strlen(text) + 1) : hash_stable(state, "", 1);
}

int hash_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}
