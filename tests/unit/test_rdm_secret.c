/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The job secret: its sources, and what its codes cover. */
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/secret.h"

static struct fi_ep_attr ep_attr;
static struct fi_domain_attr domain_attr;
static struct fi_info info = { .ep_attr = &ep_attr, .domain_attr = &domain_attr };
static uint8_t key[] = "a key", other[] = "another key";

static int begin(void **state)
{
	(void)state;
	memset(&ep_attr, 0, sizeof(ep_attr));
	memset(&domain_attr, 0, sizeof(domain_attr));
	vrb_params.auth_key = vrb_params.auth_key_file = NULL;
	return 0;
}

static struct vrb_rdm_secret *made(void)
{
	struct vrb_rdm_secret *secret = NULL;

	assert_int_equal(vrb_rdm_secret_open(&info, &info, &secret), 0);
	return secret;
}

static int not_made(void)
{
	struct vrb_rdm_secret *secret = (void *)1;
	int ret = vrb_rdm_secret_open(&info, &info, &secret);

	assert_null(secret);
	return ret;
}

/* Whether what is made now is the secret of the key. */
static bool is_of(const uint8_t *bytes, size_t len)
{
	struct vrb_rdm_hello hello = { .request = "x" };
	struct vrb_rdm_secret *secret = made(), *wanted;
	uint8_t mac[VRB_RDM_MAC_LEN];
	struct fi_ep_attr ep = { .auth_key = (uint8_t *)bytes, .auth_key_size = len };
	struct fi_info with = { .ep_attr = &ep, .domain_attr = &domain_attr };
	bool same;

	assert_non_null(secret);
	assert_int_equal(vrb_rdm_secret_open(&with, &with, &wanted), 0);
	vrb_rdm_secret_sign(wanted, VRB_RDM_INITIATOR, &hello, mac);
	same = vrb_rdm_secret_check(secret, VRB_RDM_INITIATOR, &hello, mac);
	vrb_rdm_secret_close(secret);
	vrb_rdm_secret_close(wanted);
	return same;
}

static void the_nearest_counts(void **state)
{
	(void)state;
	assert_null(made());
	vrb_params.auth_key = "environment";
	assert_true(is_of((const uint8_t *)"environment", 11));
	domain_attr.auth_key = other;
	domain_attr.auth_key_size = sizeof(other);
	assert_true(is_of(other, sizeof(other)));
	ep_attr.auth_key = key;
	ep_attr.auth_key_size = sizeof(key);
	assert_true(is_of(key, sizeof(key)));
	assert_false(is_of(other, sizeof(other)));
	ep_attr.auth_key = NULL;
	assert_int_equal(not_made(), -FI_EINVAL);
	ep_attr.auth_key_size = FI_AV_AUTH_KEY;
	assert_int_equal(not_made(), -FI_EINVAL);
}

/* Endpoints have a secret wherever it comes from, even if it turns out not to be valid. */
static void a_domain_knows_that_there_is_one(void **state)
{
	(void)state;
	assert_false(vrb_rdm_secret_is_set(&info));
	vrb_params.auth_key = "environment";
	assert_true(vrb_rdm_secret_is_set(&info));
	vrb_params.auth_key = NULL;
	vrb_params.auth_key_file = "/nowhere";
	assert_true(vrb_rdm_secret_is_set(&info));
	vrb_params.auth_key_file = NULL;
	domain_attr.auth_key_size = FI_AV_AUTH_KEY;
	assert_true(vrb_rdm_secret_is_set(&info));
	domain_attr.auth_key_size = 0;
	ep_attr.auth_key_size = sizeof(key);
	assert_true(vrb_rdm_secret_is_set(&info));
}

/* Where keys come from the address vector, an endpoint's own secret is different each time. */
static void test_av_keys(void **state)
{
	struct vrb_rdm_secret *one, *two;
	uint8_t mac[2][VRB_RDM_MAC_LEN];

	(void)state;
	domain_attr.auth_key_size = FI_AV_AUTH_KEY;
	one = made();
	ep_attr.auth_key_size = FI_AV_AUTH_KEY;
	two = made();
	assert_non_null(one);
	assert_non_null(two);
	vrb_rdm_secret_mac(one, "label", "bytes", 5, mac[0]);
	vrb_rdm_secret_mac(two, "label", "bytes", 5, mac[1]);
	assert_memory_not_equal(mac[0], mac[1], sizeof(mac[0]));
	vrb_rdm_secret_close(one);
	vrb_rdm_secret_close(two);
	/* An endpoint with a key of its own has that. */
	ep_attr.auth_key = key;
	ep_attr.auth_key_size = sizeof(key);
	assert_true(is_of(key, sizeof(key)));
}

/* All that a code is of: the key, the role, and each part of what was said. */
static void a_code_is_good_for_one_thing(void **state)
{
	struct vrb_rdm_hello hello = { .request = "request", .reply = "reply" };
	uint8_t mac[VRB_RDM_MAC_LEN], *bytes = (uint8_t *)&hello;
	struct vrb_rdm_secret *secret, *wrong;
	size_t i;

	(void)state;
	vrb_params.auth_key = "environment";
	secret = made();
	vrb_params.auth_key = "environmenT";
	wrong = made();
	vrb_rdm_secret_sign(secret, VRB_RDM_RESPONDER, &hello, mac);
	assert_true(vrb_rdm_secret_check(secret, VRB_RDM_RESPONDER, &hello, mac));
	assert_false(vrb_rdm_secret_check(wrong, VRB_RDM_RESPONDER, &hello, mac));
	assert_false(vrb_rdm_secret_check(secret, VRB_RDM_INITIATOR, &hello, mac));
	for (i = 0; i < sizeof(hello); i++) {
		bytes[i] ^= 1;
		assert_false(vrb_rdm_secret_check(secret, VRB_RDM_RESPONDER, &hello, mac));
		bytes[i] ^= 1;
	}
	for (i = 0; i < sizeof(mac); i++) {
		mac[i] ^= 0x80;
		assert_false(vrb_rdm_secret_check(secret, VRB_RDM_RESPONDER, &hello, mac));
		mac[i] ^= 0x80;
	}
	assert_true(vrb_rdm_secret_check(secret, VRB_RDM_RESPONDER, &hello, mac));
	vrb_rdm_secret_close(secret);
	vrb_rdm_secret_close(wrong);
	vrb_rdm_secret_close(NULL);
}

static uid_t owner;
static bool elevated;

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
uid_t __wrap_geteuid(void);

int __wrap_fstat(int fd, struct stat *st)
{
	int ret = __real_fstat(fd, st);

	st->st_uid = owner;
	return ret;
}

uid_t __wrap_geteuid(void)
{
	return 1000;
}

/* In place of the system's: the program has more privileges than its caller, or not. */
char *secure_getenv(const char *name)
{
	return elevated ? NULL : getenv(name);
}

static void a_file_has_to_be_its_owners(void **state)
{
	char path[] = "/tmp/weft-key-XXXXXX";
	static char large[5000];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	owner = 1000;
	vrb_params.auth_key_file = path;
	assert_int_equal(not_made(), -FI_EINVAL);
	assert_int_equal(write(fd, "a key\n", 6), 6);
	assert_true(is_of(key, sizeof(key) - 1));
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(not_made(), -FI_EACCES);
	assert_int_equal(fchmod(fd, 0604), 0);
	assert_int_equal(not_made(), -FI_EACCES);
	assert_int_equal(fchmod(fd, 0400), 0);
	vrb_params.auth_key = "both";
	assert_int_equal(not_made(), -FI_EINVAL);
	vrb_params.auth_key = NULL;
	assert_int_equal(write(fd, large, sizeof(large)), sizeof(large));
	assert_int_equal(not_made(), -FI_EINVAL);
	close(fd);
	unlink(path);
	assert_int_equal(not_made(), -FI_ENOENT);
	vrb_params.auth_key_file = "/tmp";
	assert_int_equal(not_made(), -FI_EINVAL);
	vrb_params.auth_key_file = NULL;
	vrb_params.auth_key = "";
	assert_int_equal(not_made(), -FI_EINVAL);
}

/* Kubernetes and systemd keep secrets in such files. */
static void roots_file_may_have_a_group(void **state)
{
	char path[] = "/tmp/weft-key-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	owner = 0;
	vrb_params.auth_key_file = path;
	assert_int_equal(write(fd, "a key\n", 6), 6);
	assert_int_equal(fchmod(fd, 0440), 0);
	assert_true(is_of(key, sizeof(key) - 1));
	assert_int_equal(fchmod(fd, 0460), 0);
	assert_int_equal(not_made(), -FI_EACCES);
	assert_int_equal(fchmod(fd, 0444), 0);
	assert_int_equal(not_made(), -FI_EACCES);
	owner = 1001;
	assert_int_equal(fchmod(fd, 0400), 0);
	assert_int_equal(not_made(), -FI_EACCES);
	close(fd);
	unlink(path);
}

/* A program with file capabilities does not silently run without the secret that its user set. */
static void an_ignored_file_is_an_error(void **state)
{
	struct vrb_rdm_secret *secret;

	(void)state;
	setenv("FI_VERBS_AUTH_KEY_FILE", "/run/secrets/job", 1);
	elevated = true;
	vrb_params_init();
	assert_int_equal(not_made(), -FI_EACCES);
	vrb_params.auth_key = "key";
	assert_int_equal(vrb_rdm_secret_open(&info, &info, &secret), 0);
	vrb_rdm_secret_close(secret);
	elevated = false;
	unsetenv("FI_VERBS_AUTH_KEY_FILE");
}

/* As a launcher leaves them whose secret is missing. */
static void test_empty_variables(void **state)
{
	(void)state;
	setenv("FI_VERBS_AUTH_KEY", "", 1);
	vrb_params_init();
	assert_true(vrb_rdm_secret_is_set(&info));
	assert_int_equal(not_made(), -FI_EINVAL);
	unsetenv("FI_VERBS_AUTH_KEY");
	setenv("FI_VERBS_AUTH_KEY_FILE", "", 1);
	vrb_params_init();
	assert_int_equal(not_made(), -FI_ENOENT);
	unsetenv("FI_VERBS_AUTH_KEY_FILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_nearest_counts, begin),
		cmocka_unit_test_setup(a_domain_knows_that_there_is_one, begin),
		cmocka_unit_test_setup(test_av_keys, begin),
		cmocka_unit_test_setup(a_code_is_good_for_one_thing, begin),
		cmocka_unit_test_setup(a_file_has_to_be_its_owners, begin),
		cmocka_unit_test_setup(roots_file_may_have_a_group, begin),
		cmocka_unit_test_setup(an_ignored_file_is_an_error, begin),
		cmocka_unit_test_setup(test_empty_variables, begin),
	};

	return cmocka_run_group_tests_name("rdm_secret", tests, NULL, NULL);
}
