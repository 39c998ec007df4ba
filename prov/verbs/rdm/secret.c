/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The job secret and its codes: HMAC-SHA256, using nettle. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

#define FILE_MAX 4096

struct vrb_rdm_secret {
	struct hmac_sha256_ctx keyed;
};

static const char *const roles[] = {
	[VRB_RDM_INITIATOR] = "weft rdm initiator",
	[VRB_RDM_RESPONDER] = "weft rdm responder",
};

int vrb_rdm_secret_make(const uint8_t *key, size_t len, struct vrb_rdm_secret **secret)
{
	*secret = malloc(sizeof(**secret));
	if (!*secret)
		return -FI_ENOMEM;
	hmac_sha256_set_key(&(*secret)->keyed, len, key);
	return 0;
}

static int secret_refuse(const char *path, const char *why, int err)
{
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, err,
			  "fi_endpoint: FI_VERBS_AUTH_KEY_FILE=%s: %s\n", path, why);
}

/* A container's secret often belongs to root and to the group of its user, on a read-only mount. */
static int check_file(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st))
		return secret_refuse(path, strerror(errno), -errno);
	if (!S_ISREG(st.st_mode))
		return secret_refuse(path, "it is not a regular file", -FI_EINVAL);
	if (st.st_uid && st.st_uid != geteuid())
		return secret_refuse(path, "it belongs to another user", -FI_EACCES);
	if (st.st_uid && st.st_mode & 0077)
		return secret_refuse(path,
				     "users other than its owner have access to it; chmod 600",
				     -FI_EACCES);
	if (st.st_mode & 0037)
		return secret_refuse(path, "more than its group's reading is allowed; chmod 640",
				     -FI_EACCES);
	return 0;
}

/* A trailing newline is not part of the secret. */
static int read_file(int fd, const char *path, struct vrb_rdm_secret **secret)
{
	uint8_t bytes[FILE_MAX + 1];
	size_t len = 0;
	ssize_t got;
	int ret;

	while ((got = read(fd, bytes + len, sizeof(bytes) - len)) > 0)
		len += (size_t)got;
	ret = got < 0 ? secret_refuse(path, strerror(errno), -errno) : 0;
	if (!ret && len > FILE_MAX)
		ret = secret_refuse(path, "it is longer than 4096 bytes", -FI_EINVAL);
	if (!ret && len && bytes[len - 1] == '\n')
		len--;
	if (!ret && !len)
		ret = secret_refuse(path, "it is empty", -FI_EINVAL);
	if (!ret)
		ret = vrb_rdm_secret_make(bytes, len, secret);
	explicit_bzero(bytes, sizeof(bytes));
	return ret;
}

static int from_file(const char *path, struct vrb_rdm_secret **secret)
{
	int ret, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return secret_refuse(path, strerror(errno), -errno);
	ret = check_file(fd, path);
	if (!ret)
		ret = read_file(fd, path, secret);
	close(fd);
	return ret;
}

/*
 * A program with elevated privileges does not open a file that its caller names, and must not run
 * without a secret either.
 */
static bool is_file_ignored(void)
{
	return getenv("FI_VERBS_AUTH_KEY_FILE") && !secure_getenv("FI_VERBS_AUTH_KEY_FILE");
}

static int from_environment(struct vrb_rdm_secret **secret)
{
	const char *key = vrb_params.auth_key, *path = vrb_params.auth_key_file;

	if (key && path)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_endpoint: FI_VERBS_AUTH_KEY and FI_VERBS_AUTH_KEY_FILE are both set; unset one of them\n");
	if (path)
		return from_file(path, secret);
	if (key && !*key)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_endpoint: FI_VERBS_AUTH_KEY is empty\n");
	if (!key && is_file_ignored())
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EACCES,
			"fi_endpoint: FI_VERBS_AUTH_KEY_FILE is set, but a program with elevated privileges (setuid, file capabilities) takes it from libfabric.conf only\n");
	return key ? vrb_rdm_secret_make((const uint8_t *)key, strlen(key), secret) : 0;
}

bool vrb_rdm_secret_is_av(const struct fi_info *ep, const struct fi_info *domain)
{
	size_t len = ep->ep_attr->auth_key_size;

	return domain->domain_attr->auth_key_size == FI_AV_AUTH_KEY &&
	       (!len || len == FI_AV_AUTH_KEY);
}

bool vrb_rdm_secret_is_set(const struct fi_info *domain)
{
	return domain->domain_attr->auth_key_size || domain->ep_attr->auth_key_size ||
	       vrb_params.auth_key || vrb_params.auth_key_file;
}

static int secret_make_random(struct vrb_rdm_secret **secret)
{
	uint8_t key[VRB_RDM_MAC_LEN];

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -errno;
	return vrb_rdm_secret_make(key, sizeof(key), secret);
}

int vrb_rdm_secret_open(const struct fi_info *ep, const struct fi_info *domain,
			struct vrb_rdm_secret **secret)
{
	const struct fi_ep_attr *mine = ep->ep_attr;
	const struct fi_domain_attr *its = domain->domain_attr;
	const uint8_t *key = mine->auth_key_size ? mine->auth_key : its->auth_key;
	size_t len = mine->auth_key_size ? mine->auth_key_size : its->auth_key_size;

	*secret = NULL;
	if (vrb_rdm_secret_is_av(ep, domain))
		return secret_make_random(secret);
	if (!len)
		return from_environment(secret);
	if (key && len != FI_AV_AUTH_KEY)
		return vrb_rdm_secret_make(key, len, secret);
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_endpoint: auth_key_size is %zu, and auth_key is NULL; FI_AV_AUTH_KEY must be that of the domain\n",
		len);
}

void vrb_rdm_secret_close(struct vrb_rdm_secret *secret)
{
	if (!secret)
		return;
	explicit_bzero(secret, sizeof(*secret));
	free(secret);
}

void vrb_rdm_secret_mac(const struct vrb_rdm_secret *secret, const char *label, const void *bytes,
			size_t len, uint8_t *mac)
{
	struct hmac_sha256_ctx ctx = secret->keyed;

	hmac_sha256_update(&ctx, strlen(label), (const uint8_t *)label);
	hmac_sha256_update(&ctx, len, bytes);
	hmac_sha256_digest(&ctx, VRB_RDM_MAC_LEN, mac);
	explicit_bzero(&ctx, sizeof(ctx));
}

void vrb_rdm_secret_sign(const struct vrb_rdm_secret *secret, enum vrb_rdm_role role,
			 const struct vrb_rdm_hello *hello, uint8_t *mac)
{
	vrb_rdm_secret_mac(secret, roles[role], hello, sizeof(*hello), mac);
}

bool vrb_rdm_secret_check(const struct vrb_rdm_secret *secret, enum vrb_rdm_role role,
			  const struct vrb_rdm_hello *hello, const uint8_t *mac)
{
	uint8_t wanted[VRB_RDM_MAC_LEN];

	vrb_rdm_secret_sign(secret, role, hello, wanted);
	return memeql_sec(wanted, mac, sizeof(wanted));
}
