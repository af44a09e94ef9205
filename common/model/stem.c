/* SPDX-License-Identifier: Apache-2.0 */
/* stem: what controllers and people append to the names of repeated runs, as one table of rules about the last part
 * of a name. A rule that matches too much merges two workloads (resnet-50 and resnet-101); a rule that matches too
 * little makes every run a workload of its own. Where both errors are possible, the table says which one was chosen
 * and why. */
#include "model/stem.h"

#include "base/attr.h"
#include "model/identity.h"

#include <stdint.h>
#include <stdio.h>

/* ---- classes of characters ---- */

/* Tokens of a command line may have megabytes, so a class is one look into a table. */
enum {
	DIGIT = 1,
	HEX = 2, /* of both cases */
	VOWELLESS = 4,
	K8S_RANDOM = 8, /* generated suffixes have no vowels, and no 0, 1, 3 (k8s.io/apimachinery/pkg/util/rand) */
	SEPARATOR = 16,
};

#define CONSONANT (VOWELLESS | K8S_RANDOM)
static const unsigned char classes[256] = {
	['0'] = DIGIT | HEX | VOWELLESS,
	['1'] = DIGIT | HEX | VOWELLESS,
	['2'] = DIGIT | HEX | CONSONANT,
	['3'] = DIGIT | HEX | VOWELLESS,
	['4' ... '9'] = DIGIT | HEX | CONSONANT,
	['A' ... 'F'] = HEX,
	['a'] = HEX,
	['b' ... 'd'] = HEX | CONSONANT,
	['e'] = HEX,
	['f'] = HEX | CONSONANT,
	['g' ... 'h'] = CONSONANT,
	['j' ... 'n'] = CONSONANT,
	['p' ... 't'] = CONSONANT,
	['v' ... 'x'] = CONSONANT,
	['z'] = CONSONANT,
	['-'] = SEPARATOR,
	['.'] = SEPARATOR,
	['_'] = SEPARATOR,
};

static int class_of(char c)
{
	return classes[(unsigned char)c];
}

static bool is_digit(char c)
{
	return class_of(c) & DIGIT;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_separator(char c)
{
	return class_of(c) & SEPARATOR;
}

/* What a rule asks of all characters of a text, found in one pass. */
struct shape {
	int all, any; /* classes of every character, and of at least one; 0 of an empty text */
	size_t turns; /* from digits to others or back */
};

static struct shape shape_of(struct str s)
{
	struct shape shape = {.all = s.n ? ~0 : 0};

	STEPS(s.n);
	for (size_t i = 0; i < s.n; i++) {
		int class_ = class_of(s.p[i]);

		shape.turns += i && (class_ & DIGIT) != (class_of(s.p[i - 1]) & DIGIT);
		shape.all &= class_;
		shape.any |= class_;
	}
	return shape;
}

static bool all(struct str s, int class_)
{
	size_t i = 0;

	while (i < s.n && class_of(s.p[i]) & class_)
		i++;
	STEPS(i);
	return s.n > 0 && i == s.n;
}

static bool str_is_one_of(struct str s, const char *const *words, size_t n)
{
	STEPS(n);
	for (size_t i = 0; i < n; i++)
		if (str_eq(s, str_c(words[i])))
			return true;
	return false;
}

/* The value of a number of digits; INT64_MAX if it does not fit. */
static int64_t number(struct str s)
{
	int64_t value = 0;

	for (size_t i = 0; i < s.n; i++)
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_add_overflow(value, (int64_t)(s.p[i] - '0'), &value))
			return INT64_MAX;
	return value;
}

static bool is_power_of_two(int64_t value)
{
	return value > 0 && (value & (value - 1)) == 0;
}

/* ---- rules: whether the last part is volatile; `before` is the part in front of it (empty if there is none) ---- */

/* Words whose number is a part of the name: resnet-50, gpt-2, llama-3. */
static bool is_family(struct str word)
{
	static const char *const families[] = {
		"resnet", "resnext",  "densenet", "efficientnet", "mobilenet", "vgg",	    "gpt",     "llama",
		"qwen",	  "gemma",    "mistral",  "mixtral",	  "phi",       "opt",	    "bloom",   "yolo",
		"falcon", "vit",      "swin",	  "deepseek",	  "whisper",   "glm",	    "chatglm", "stablelm",
		"cifar",  "imagenet", "squad",	  "wmt",	  "coco",      "dino",	    "sam",     "clip",
		"olmo",	  "pythia",   "granite",  "nemotron",	  "unet",      "alphafold", "stage",   "phase",
		"part",	  "cuda",     "python",
	};

	/* The shortest words have three letters. The check saves time: names may have a hundred parts. */
	return word.n >= 3 && str_is_one_of(word, families, ARRAY_LEN(families));
}

/* Any number: counters, parts of dates, unix times. Exceptions are numbers of a family, and powers of two from 128 on,
 * which are batch sizes and sequence lengths: a counter rarely reaches 128, but bert-512 beside bert-128 is common. */
static bool rule_number(struct str part, struct str before)
{
	int64_t value;

	if (!all(part, DIGIT))
		return false;
	value = number(part);
	if (part.n <= 3 && is_family(before))
		return false;
	return !(value >= 128 && value <= 131072 && is_power_of_two(value));
}

/* "20261101t081500z", "01t08", "00z": parts of a date with a time. */
static bool rule_time(struct str part, struct str before)
{
	size_t t = 0;
	struct str rest = part;

	(void)before;
	if (rest.n > 2 && lower(rest.p[rest.n - 1]) == 'z')
		rest.n--;
	while (t < rest.n && lower(rest.p[t]) != 't')
		t++;
	STEPS(t);
	if (t == rest.n)
		return rest.n < part.n && rest.n % 2 == 0 && all(rest, DIGIT);
	return t >= 2 && all((struct str){rest.p, t}, DIGIT) && rest.n - t > 2 &&
	       all((struct str){rest.p + t + 1, rest.n - t - 1}, DIGIT);
}

/* Common words without vowels, which look random; a number may follow (rwkv7, llm7b). By their first letter. */
static bool is_vowelless_word(struct str part)
{
	static const char *const words['z' - 'a' + 1][8] = {
		['b' - 'a'] = {"bsz"},
		['c' - 'a'] = {"cnn", "clm", "cpu", "ctr", "cvt", "ctx"},
		['d' - 'a'] = {"dlrm", "ddp"},
		['f' - 'a'] = {"fsdp"},
		['g' - 'a'] = {"gpt", "gnn", "gcn", "gpu", "gpc", "gbdt", "gbs"},
		['h' - 'a'] = {"html", "hpc"},
		['l' - 'a'] = {"llm", "lstm", "lgbm"},
		['m' - 'a'] = {"mlp", "mlm", "mbs", "mt5"},
		['n' - 'a'] = {"nlp", "nccl"},
		['p' - 'a'] = {"ppl"},
		['r' - 'a'] = {"rwkv", "rlhf", "rnn"},
		['s' - 'a'] = {"sdxl", "ssm", "svm", "sft"},
		['t' - 'a'] = {"tts", "tpu", "t5x"},
		['v' - 'a'] = {"vgg", "vlm"},
		['w' - 'a'] = {"wmt"},
		['x' - 'a'] = {"xgb"},
	};
	const char *const *word;

	if (!part.n || part.p[0] < 'a' || part.p[0] > 'z')
		return false;
	for (word = words[part.p[0] - 'a']; *word; word++) {
		STEPS(4);
		if (str_starts(part, str_c(*word)))
			return true;
	}
	return false;
}

/* "bs256", "px224": an abbreviation and its number, whose characters occur in generated suffixes too. One in 27
 * generated suffixes is two or three letters and digits; so only known abbreviations with powers of two count, which
 * are one generated suffix in 1,700. */
static bool is_abbreviation(struct str part)
{
	static const char *const words[] = {"bs", "px", "lr", "hd", "ds", "sz", "tp", "pp", "dp", "cp",
					    "kd", "sd", "nb", "nl", "nh", "dm", "ff", "ch", "wd", "mb",
					    "gb", "rl", "vq", "hf", "pt", "tf", "fp", "bf"};
	struct str letters = {part.p, 0};
	struct str digits;

	while (letters.n < part.n && !is_digit(part.p[letters.n]))
		letters.n++;
	digits = (struct str){part.p + letters.n, part.n - letters.n};
	if (letters.n < 2 || letters.n > 3 || !all(digits, DIGIT))
		return false;
	return str_is_one_of(letters, words, ARRAY_LEN(words)) || is_power_of_two(number(digits));
}

/* "x7k2p": 5 characters by generateName, 8 by Katib, 8 to 10 by ReplicaSets. */
static bool rule_k8s_random(struct str part, struct str before)
{
	(void)before;
	return (part.n == 5 || (part.n >= 8 && part.n <= 10)) && all(part, K8S_RANDOM) && !is_vowelless_word(part) &&
	       !is_abbreviation(part);
}

/* Hashes: hexadecimal, with a digit (decade and facade are words). */
static bool is_hash(struct str part, const struct shape *shape, size_t min_bytes)
{
	return part.n >= min_bytes && shape->all & HEX && shape->any & DIGIT;
}

static bool rule_hash(struct str part, struct str before)
{
	struct shape shape = shape_of(part);

	(void)before;
	return is_hash(part, &shape, 6);
}

/* Long random ids: no vowels at all (TorchX), or letters and digits that alternate more often than in names. */
static bool is_long_random(struct str part, const struct shape *shape)
{
	return (part.n >= 11 && shape->all & VOWELLESS && !is_vowelless_word(part)) ||
	       (part.n >= 12 && shape->turns >= 5);
}

static bool rule_long_random(struct str part, struct str before)
{
	struct shape shape = shape_of(part);

	(void)before;
	return is_long_random(part, &shape);
}

/* "run1", "trial03": a word for counting, with its number. */
static bool rule_counted(struct str part, struct str before)
{
	static const char *const words[] = {"run",  "trial", "attempt", "try",	 "retry", "seed",
					    "fold", "iter",  "build",	"rerun", "rev",	  "restart"};
	size_t n = part.n;

	(void)before;
	while (n > 0 && is_digit(part.p[n - 1]))
		n--;
	return n < part.n && str_is_one_of((struct str){part.p, n}, words, ARRAY_LEN(words));
}

static const struct {
	bool (*matches)(struct str part, struct str before);
	const char *example;
} rules[] = {
	{rule_number, "bert-7, nightly-29384756, bert-2026-11-01"},
	{rule_time, "bert-20261101t081500z"},
	{rule_k8s_random, "bert-x7k2p"},
	{rule_hash, "bert-3f2a91c"},
	{rule_long_random, "trainer-zmkxp7k1ldl7hc"},
	{rule_counted, "bert-run3"},
};

static bool is_volatile(struct str part, struct str before)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].matches(part, before))
			return true;
	return false;
}

/* ---- from the end of a name ---- */

/* The last part of a name. */
static struct str last_part(struct str name)
{
	size_t start = name.n;

	while (start > 0 && !is_separator(name.p[start - 1]))
		start--;
	STEPS(name.n - start);
	return (struct str){name.p + start, name.n - start};
}

static struct str without_separators(struct str name)
{
	while (name.n > 0 && is_separator(name.p[name.n - 1]))
		name.n--;
	return name;
}

/* The name before its last part, without separators at the end. */
static struct str before_part(struct str name, struct str part)
{
	return without_separators((struct str){name.p, name.n - part.n});
}

/* Length of a UUID at the end; 0: none. Its parts alone could be words (dead-beef). */
static size_t uuid_bytes(struct str name)
{
	static const char pattern[] = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
	const size_t n = sizeof(pattern) - 1;

	if (name.n < n || (name.n > n && !is_separator(name.p[name.n - n - 1])))
		return 0;
	for (size_t i = 0; i < n; i++) {
		char c = name.p[name.n - n + i];

		if (pattern[i] == '-' ? c != '-' : !(class_of(c) & HEX))
			return 0;
	}
	return n;
}

struct str stem_of(struct str name)
{
	struct str left = without_separators(name);

	for (;;) {
		size_t uuid = uuid_bytes(left);
		struct str part = uuid ? (struct str){left.p + left.n - uuid, uuid} : last_part(left);
		struct str before = before_part(left, part);

		if (!uuid && !is_volatile(part, last_part(before)))
			return left;
		/* All parts are volatile: there is no stable name, and a part of it would only look like one. */
		if (before.n == 0)
			return without_separators(name);
		left = before;
	}
}

size_t identity_stem(const char *name, char *ret, size_t size)
{
	struct str stem = stem_of(str_c(name));

	snprintf(ret, size, "%.*s", (int)stem.n, stem.p);
	return strlen(ret);
}

bool stem_is_random_suffix(struct str part)
{
	return part.n == 5 && all(part, K8S_RANDOM);
}

bool stem_is_digits(struct str part)
{
	return all(part, DIGIT);
}

bool stem_is_number(struct str part)
{
	return part.n <= 9 && all(part, DIGIT);
}

/* ---- tokens of a command line ---- */

static bool is_plausible_date(int64_t yyyymmdd)
{
	int64_t month = yyyymmdd / 100 % 100, day = yyyymmdd % 100;

	return yyyymmdd / 10000 >= 1990 && yyyymmdd / 10000 <= 2100 && month >= 1 && month <= 12 && day >= 1 &&
	       day <= 31;
}

/* Numbers that are times: minutes, seconds, ms, us since 1970 for 2017 to 2065, dates, dates with times. Steps and
 * sizes of a training (1000000) are not. */
static bool is_time_number(struct str token)
{
	int64_t value = number(token);

	if (token.n == 8)
		return is_plausible_date(value) || (value >= 24700000 && value < 50000000);
	if (token.n == 12 || token.n == 14)
		return is_plausible_date(value / (token.n == 12 ? 10000 : 1000000));
	if (token.n == 10 || token.n == 13 || token.n == 16)
		return token.p[0] == '1' || token.p[0] == '2';
	return false;
}

bool stem_is_volatile_token(struct str token)
{
	struct shape shape;

	if (token.n < 3) /* shorter than every volatile one */
		return false;
	shape = shape_of(token);
	if (shape.all & DIGIT)
		return is_time_number(token);
	return (is_digit(token.p[0]) && rule_time(token, STR(""))) || is_long_random(token, &shape) ||
	       is_hash(token, &shape, 7);
}
