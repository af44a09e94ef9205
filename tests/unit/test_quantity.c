/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "k8s/quantity.h"

#include <string.h>

#define B QUANTITY_BINARY_SI
#define D QUANTITY_DECIMAL_SI
#define E QUANTITY_DECIMAL_EXPONENT

struct quantity_row {
	const char *text;
	enum quantity_format format;
	const char *canonical;
	int64_t value, milli;
};

/* What apimachinery v0.37 says: the canonical text of the value, whole units and thousandths rounded up. */
static const struct quantity_row rows[] = {
	{"0", D, "0", 0, 0},
	{"0n", D, "0", 0, 0},
	{"0m", D, "0", 0, 0},
	{"0k", D, "0", 0, 0},
	{"0Ki", B, "0", 0, 0},
	{"0Gi", B, "0", 0, 0},
	{"0Ei", B, "0", 0, 0},
	{"00", D, "0", 0, 0},
	{"-0", D, "0", 0, 0},
	{"+0", D, "0", 0, 0},
	{"0.0", D, "0", 0, 0},
	{"0.", D, "0", 0, 0},
	{".0", D, "0", 0, 0},
	{"0e5", E, "0", 0, 0},
	{"1", D, "1", 1, 1000},
	{"9", D, "9", 9, 9000},
	{"007", D, "7", 7, 7000},
	{"+5", D, "5", 5, 5000},
	{"-5", D, "-5", -5, -5000},
	{"10", D, "10", 10, 10000},
	{"100", D, "100", 100, 100000},
	{"1000", D, "1k", 1000, 1000000},
	{"1001", D, "1001", 1001, 1001000},
	{"1023", D, "1023", 1023, 1023000},
	{"1024", D, "1024", 1024, 1024000},
	{"1025", D, "1025", 1025, 1025000},
	{"5n", D, "5n", 1, 1},
	{"4u", D, "4u", 1, 1},
	{"3m", D, "3m", 1, 3},
	{"8k", D, "8k", 8000, 8000000},
	{"50k", D, "50k", 50000, 50000000},
	{"7M", D, "7M", 7000000, 7000000000},
	{"6G", D, "6G", 6000000000, 6000000000000},
	{"5T", D, "5T", 5000000000000, 5000000000000000},
	{"40T", D, "40T", 40000000000000, 40000000000000000},
	{"300T", D, "300T", 300000000000000, 300000000000000000},
	{"2P", D, "2P", 2000000000000000, 2000000000000000000},
	{"1E", D, "1E", 1000000000000000000, 9223372036854775807},
	{"12E", D, "12E", 9223372036854775807, 9223372036854775807},
	{"1Ki", B, "1Ki", 1024, 1024000},
	{"8Ki", B, "8Ki", 8192, 8192000},
	{"7Mi", B, "7Mi", 7340032, 7340032000},
	{"6Gi", B, "6Gi", 6442450944, 6442450944000},
	{"5Ti", B, "5Ti", 5497558138880, 5497558138880000},
	{"4Pi", B, "4Pi", 4503599627370496, 4503599627370496000},
	{"3Ei", B, "3Ei", 3458764513820540928, 9223372036854775807},
	{"7Ei", B, "7Ei", 8070450532247928832, 9223372036854775807},
	{"8Ei", B, "9223372036854775807", 9223372036854775807, 9223372036854775807},
	{"9Ei", B, "9223372036854775807", 9223372036854775807, 9223372036854775807},
	{"-9Ei", B, "-9223372036854775807", -9223372036854775807, -9223372036854775807},
	{"10Ti", B, "10Ti", 10995116277760, 10995116277760000},
	{"1000Ki", B, "1000Ki", 1024000, 1024000000},
	{"1024Ki", B, "1Mi", 1048576, 1048576000},
	{"1024Mi", B, "1Gi", 1073741824, 1073741824000},
	{"1536Mi", B, "1536Mi", 1610612736, 1610612736000},
	{"1000Mi", B, "1000Mi", 1048576000, 1048576000000},
	{"2048Gi", B, "2Ti", 2199023255552, 2199023255552000},
	{"1048576Ki", B, "1Gi", 1073741824, 1073741824000},
	{"1e3", E, "1e3", 1000, 1000000},
	{"1E3", E, "1e3", 1000, 1000000},
	{"1e0", E, "1", 1, 1000},
	{"1e-3", E, "1e-3", 1, 1},
	{"1E-3", E, "1e-3", 1, 1},
	{"1e+3", E, "1e3", 1000, 1000000},
	{"1E+6", E, "1e6", 1000000, 1000000000},
	{"12e6", E, "12e6", 12000000, 12000000000},
	{"1e9", E, "1e9", 1000000000, 1000000000000},
	{"1E18", E, "1e18", 1000000000000000000, 9223372036854775807},
	{"1e14", E, "100e12", 100000000000000, 100000000000000000},
	{"1e13", E, "10e12", 10000000000000, 10000000000000000},
	{"1.2e3", E, "1200", 1200, 1200000},
	{"1.3E+6", E, "1300e3", 1300000, 1300000000},
	{"1.40e9", E, "1400e6", 1400000000, 1400000000000},
	{"0.5e0", E, "500e-3", 1, 500},
	{"0.5e-1", E, "50e-3", 1, 50},
	{"0.5e-9", E, "1e-9", 1, 1},
	{"1.1E-9", E, "2e-9", 1, 1},
	{"1e-9", E, "1e-9", 1, 1},
	{"1e-10", E, "1e-9", 1, 1},
	{"1e-1000", E, "1e-9", 1, 1},
	{"-1e-1000", E, "-1e-9", -1, -1},
	{"0.001", D, "1m", 1, 1},
	{"0.0005k", D, "500m", 1, 500},
	{"0.005", D, "5m", 1, 5},
	{"0.05", D, "50m", 1, 50},
	{"0.5", D, "500m", 1, 500},
	{".5", D, "500m", 1, 500},
	{"5.", D, "5", 5, 5000},
	{".5Gi", B, "512Mi", 536870912, 536870912000},
	{"5.Gi", B, "5Gi", 5368709120, 5368709120000},
	{"1.G", D, "1G", 1000000000, 1000000000000},
	{".001", D, "1m", 1, 1},
	{".0001k", D, "100m", 1, 100},
	{"1.5", D, "1500m", 2, 1500},
	{"1.50", D, "1500m", 2, 1500},
	{"1.500", D, "1500m", 2, 1500},
	{"1.5Gi", B, "1536Mi", 1610612736, 1610612736000},
	{"0.1Gi", B, "107374182400m", 107374183, 107374182400},
	{"0.3Gi", B, "322122547200m", 322122548, 322122547200},
	{"1.1Gi", B, "1181116006400m", 1181116007, 1181116006400},
	{"2.5Ti", B, "2560Gi", 2748779069440, 2748779069440000},
	{"0.025Ti", B, "27487790694400m", 27487790695, 27487790694400},
	{"1.025Ti", B, "1126999418470400m", 1126999418471, 1126999418470400},
	{"-1.5", D, "-1500m", -2, -1500},
	{"-1.5Gi", B, "-1536Mi", -1610612736, -1610612736000},
	{"-0.1Gi", B, "-107374182400m", -107374183, -107374182400},
	{"-0.5", D, "-500m", -1, -500},
	{"-3.01", D, "-3010m", -4, -3010},
	{"9.01", D, "9010m", 10, 9010},
	{"8.1k", D, "8100", 8100, 8100000},
	{"100.035k", D, "100035", 100035, 100035000},
	{"7.123456M", D, "7123456", 7123456, 7123456000},
	{"6.987654321G", D, "6987654321", 6987654321, 6987654321000},
	{"5.444T", D, "5444G", 5444000000000, 5444000000000000},
	{"2.5P", D, "2500T", 2500000000000000, 2500000000000000000},
	{"1.01E", D, "1010P", 1010000000000000000, 9223372036854775807},
	{"10.035M", D, "10035k", 10035000, 10035000000},
	{"100.035Ki", B, "102435840m", 102436, 102435840},
	{"0.5Mi", B, "512Ki", 524288, 524288000},
	{"0.5Ki", B, "512", 512, 512000},
	{"0.05Gi", B, "53687091200m", 53687092, 53687091200},
	{"3.001n", D, "4n", 1, 1},
	{"0.9n", D, "1n", 1, 1},
	{"0.1n", D, "1n", 1, 1},
	{"0.0000000001", D, "1n", 1, 1},
	{"0.0000000005", D, "1n", 1, 1},
	{"0.00000012345", D, "124n", 1, 1},
	{"0.00000012354", D, "124n", 1, 1},
	{"0.000000000001Ki", D, "2n", 1, 1},
	{"-0.000000000001Ki", D, "-2n", -1, -1},
	{".001Ki", B, "1024m", 2, 1024},
	{".000001Ki", D, "1024u", 1, 2},
	{".000000001Ki", D, "1024n", 1, 1},
	{"9223372036854775807", D, "9223372036854775807", 9223372036854775807, 9223372036854775807},
	{"-9223372036854775807", D, "-9223372036854775807", -9223372036854775807, -9223372036854775807},
	{"9223372036854775808", D, "9223372036854775808", 9223372036854775807, 9223372036854775807},
	{"92233720368547758080", D, "92233720368547758080", 9223372036854775807, 9223372036854775807},
	{"9223372036854775807Ki", B, "9223372036854775807", 9223372036854775807, 9223372036854775807},
	{"-9223372036854775807Ki", B, "-9223372036854775807", -9223372036854775807, -9223372036854775807},
	{"9223372036854775807.123456789", D, "9223372036854775807123456789n", 9223372036854775807, 9223372036854775807},
	{"0.999999999999999999999999999999", D, "1", 1, 1000},
	{"999999999999999999", D, "999999999999999999", 999999999999999999, 9223372036854775807},
	{"1000000000000000000", D, "1E", 1000000000000000000, 9223372036854775807},
	{"1234567890123.1234567890123Ki", B, "1264197519486078419751949n", 1264197519486079, 1264197519486078420},
	{"123456789.987654321Gi", B, "132560718866528888112021504n", 132560718866528889, 9223372036854775807},
	{"1500m", D, "1500m", 2, 1500},
	{"100m", D, "100m", 1, 100},
	{"1000m", D, "1", 1, 1000},
	{"2000m", D, "2", 2, 2000},
	{"999m", D, "999m", 1, 999},
	{"1u", D, "1u", 1, 1},
	{"1000u", D, "1m", 1, 1},
	{"1500u", D, "1500u", 1, 2},
	{"1000000n", D, "1m", 1, 1},
	{"1234567n", D, "1234567n", 1, 2},
	{"400m", D, "400m", 1, 400},
	{"100M", D, "100M", 100000000, 100000000000},
	{"30Gi", B, "30Gi", 32212254720, 32212254720000},
	{"85899345920", D, "85899345920", 85899345920, 85899345920000},
	{"91268055041", D, "91268055041", 91268055041, 91268055041000},
	{"0.000000000000000000000000000000000000000000000000000000000000000000000001", D, "1n", 1, 1},
	{"0.00000000000000000000000000000000000000000000000000000000000000000001Ei", D, "1n", 1, 1},
	{"00000000000000000000000000000000000000000000000000000000000000000000000001", D, "1", 1, 1000},
	{"+", D, "0", 0, 0},
	{"-", D, "0", 0, 0},
	{".", D, "0", 0, 0},
	{"k", D, "0", 0, 0},
	{"Gi", B, "0", 0, 0},
	{"m", D, "0", 0, 0},
	{"e3", E, "0", 0, 0},
	{".Ti", B, "0", 0, 0},
	{"-.Ki", B, "0", 0, 0},
	{"1e4294967296", E, "1", 1, 1000},
	{"1e4294967299", E, "1e3", 1000, 1000000},
};

/* Where we differ from apimachinery on purpose: it has no suffix above E and prints none ("1000E" as "1"), and its
 * decimal quantities have no end; ours end at 10^26. */
static const struct quantity_row own_rows[] = {
	{"1000E", D, "1000E", INT64_MAX, INT64_MAX},
	{"1e100", E, "100e24", INT64_MAX, INT64_MAX},
	{"-1e100", E, "-100e24", -INT64_MAX, -INT64_MAX},
	{"1e2147483647", E, "100e24", INT64_MAX, INT64_MAX},
	{"99999999999999999999999999999999999999999999999999999999999999999999999E", D, "100000000E", INT64_MAX,
	 INT64_MAX},
};

static void check_row(const struct quantity_row *row)
{
	struct quantity quantity, again;
	char buf[QUANTITY_TEXT_BYTES], buf2[QUANTITY_TEXT_BYTES];

	test_row(row->text);
	assert_int_equal(quantity_parse(row->text, strlen(row->text), &quantity, NULL), 0);
	assert_int_equal(quantity.format, row->format);
	assert_int_equal(quantity_value(&quantity), row->value);
	assert_int_equal(quantity_milli_value(&quantity), row->milli);
	assert_string_equal(quantity_render(&quantity, buf), row->canonical);
	assert_int_equal(quantity_parse(buf, strlen(buf), &again, NULL), 0);
	assert_int_equal(quantity_cmp(&quantity, &again), 0);
	assert_string_equal(quantity_render(&again, buf2), buf);
}

static void quantity_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
	for (size_t i = 0; i < ARRAY_LEN(own_rows); i++)
		check_row(&own_rows[i]);
}

static void quantity_refuses(void **state)
{
	static const char *const bad[] = {
		"",	 "Pi",	   ".Ei",     "e-10",	   "1 ",   " 1",    "1KB",
		"1kB",	 "1gi",	   "1GI",     "1K",	   "1ki",  "1Kii",  "1i",
		".5i",	 "-3.01i", "-3.01e-", "1e",	   "1e+",  "1e3.5", "1e99999999999999999999",
		"1.1.M", "1..1",   "1+1.0M",  "--1",	   "+-1",  "0.1mi", "0.1am",
		"aoeu",	 "NaN",	   "inf",     "-Infinity", "0x10", "1_000", "1,000",
		"1e3Ki", "1Ki3",   "1mm",     "1E3m",	   "1ee3", "٣",	    "$GPU_PER_NODE"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct quantity quantity = {.nano = 77};
		struct err err = ERR_INIT;

		test_row(bad[i]);
		assert_int_equal(quantity_parse(bad[i], strlen(bad[i]), &quantity, &err), QUANTITY_E_SYNTAX);
		assert_true(quantity.nano == 77);
		assert_non_null(strstr(err.msg, bad[i]));
	}
	test_row("NUL inside");
	assert_int_equal(quantity_parse("1\0"
					"2",
					3, &(struct quantity){.nano = 0}, NULL),
			 QUANTITY_E_SYNTAX);
}

static void quantity_reads_only_n_bytes(void **state)
{
	const char text[] = {'1', '2', 'G', 'i', '9'};
	struct quantity quantity;

	(void)state;
	assert_int_equal(quantity_parse(text, 4, &quantity, NULL), 0);
	assert_int_equal(quantity_value(&quantity), (int64_t)12 << 30);
}

static void quantity_compares(void **state)
{
	static const struct {
		const char *a, *b;
		int expected;
	} pairs[] = {
		{"0", "0Gi", 0},	{"1Gi", "1024Mi", 0},
		{"100m", "50m", 1},	{"50m", "100m", -1},
		{"10000T", "100Gi", 1}, {"-1", "-2", 1},
		{"1000m", "1", 0},	{"1n", "0", 1},
		{"8Ei", "9Ei", 0},	{"9223372036854775807", "8Ei", 0},
		{"12E", "9Ei", 1},	{"-1n", "1n", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct quantity a, b;

		test_row(pairs[i].a);
		assert_int_equal(quantity_parse(pairs[i].a, strlen(pairs[i].a), &a, NULL), 0);
		assert_int_equal(quantity_parse(pairs[i].b, strlen(pairs[i].b), &b, NULL), 0);
		assert_int_equal(quantity_cmp(&a, &b), pairs[i].expected);
		assert_int_equal(quantity_cmp(&b, &a), -pairs[i].expected);
	}
}

static void quantity_renders_bytes(void **state)
{
	static const struct {
		int64_t bytes;
		const char *canonical, *human;
	} cases[] = {
		{0, "0", "0"},
		{1, "1", "1"},
		{1000, "1000", "1000"},
		{1023, "1023", "1023"},
		{1024, "1Ki", "1Ki"},
		{1025, "1025", "2Ki"},
		{1536, "1536", "2Ki"},
		{1073741824, "1Gi", "1Gi"},
		{1048575, "1048575", "1Mi"},
		{1073741825, "1073741825", "1025Mi"},
		{1258291200, "1200Mi", "1200Mi"},
		{1610612736, "1536Mi", "1536Mi"},
		{91912000000, "91912000000", "87655Mi"},
		{1098437885952, "1023Gi", "1023Gi"},
		{1099511627775, "1099511627775", "1Ti"},
		{1099511627776, "1Ti", "1Ti"},
		{INT64_MAX, "9223372036854775807", "8Ei"},
		{-1024, "-1Ki", "-1Ki"},
		{-1536, "-1536", "-2Ki"},
		{INT64_MIN, "-8Ei", "-8Ei"},
	};
	char buf[QUANTITY_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		test_row(cases[i].canonical);
		assert_string_equal(quantity_render_bytes(cases[i].bytes, buf), cases[i].canonical);
		assert_string_equal(quantity_render_human(cases[i].bytes, buf), cases[i].human);
	}
}

/* Every whole number of bytes and milli units survives text and back, in its own format. */
static void quantity_round_trips(void **state)
{
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct quantity a = {.format = (enum quantity_format)(i % 3)}, b;
		char buf[QUANTITY_TEXT_BYTES];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		a.nano = (__int128)(int64_t)(x >> (i % 60)) * (i & 1 ? 1 : -1) * (i & 2 ? 1000000 : 1000000000);
		quantity_render(&a, buf);
		assert_int_equal(quantity_parse(buf, strlen(buf), &b, NULL), 0);
		if (quantity_cmp(&a, &b) != 0)
			fail_msg("%s does not come back", buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_rows),
		cmocka_unit_test(quantity_refuses),
		cmocka_unit_test(quantity_reads_only_n_bytes),
		cmocka_unit_test(quantity_compares),
		cmocka_unit_test(quantity_renders_bytes),
		cmocka_unit_test(quantity_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
