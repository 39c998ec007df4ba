/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks the limit of locked memory, what happens to registered memory at fork, and whether the
 * kernel reports freed memory.
 */
#include "doctor_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor_param.h"
#include "doctor_tree.h"

#define CAP_IPC_LOCK_BIT 14
#define TINY_LIMIT	 (1UL << 20) /* barely enough for the queues of one endpoint */

#define USER_MODE_ONLY	1		/* flag of userfaultfd(2) since Linux 5.11 */
#define NEW_USERFAULTFD _IO(0xAA, 0x00) /* ioctl of /dev/userfaultfd since Linux 6.1 */

/* Result of ibv_is_fork_initialized if the kernel copies pinned pages at fork. */
#define FORK_UNNEEDED 2

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

static uint64_t parse_limit(const char *text)
{
	return strcmp(text, "unlimited") ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* Returns true if this process may lock memory beyond its limit. */
static bool has_ipc_lock(const char *root)
{
	uint64_t caps = 0;
	char line[128];

	/* The kernel requires it in the initial user namespace, which maps all users. */
	if (tree_line(root, "", line, sizeof(line), "/proc/self/uid_map") &&
	    !strstr(line, " 4294967295"))
		return false;
	if (tree_line(root, "CapEff:", line, sizeof(line), "/proc/self/status"))
		caps = strtoull(line + strlen("CapEff:"), NULL, 16);
	return caps & (1ULL << CAP_IPC_LOCK_BIT);
}

static void fix_memlock(struct doctor *doctor, uint64_t hard)
{
	if (hard == UINT64_MAX)
		doctor_fix(doctor, "ulimit -l unlimited");
	else if (hard >= DOCTOR_REGISTER)
		doctor_fix(doctor, "ulimit -l %" PRIu64, hard >> 10);
	else
		doctor_fix(
			doctor,
			"echo '* - memlock unlimited' >/etc/security/limits.d/rdma.conf, then log in again; for a service LimitMEMLOCK=infinity, for a container --ulimit memlock=-1");
}

static void check_memlock(struct doctor *doctor)
{
	char line[160], soft_text[32] = "", hard_text[32] = "";
	uint64_t soft, hard;

	if (!tree_line(doctor->root, "Max locked memory", line, sizeof(line),
		       "/proc/self/limits") ||
	    sscanf(line, "Max locked memory %31s %31s", soft_text, hard_text) != 2) {
		doctor_fix(doctor, "mount -t proc proc /proc");
		doctor_say(doctor, DOCTOR_NOTE, "the limit of locked memory is unknown");
		return;
	}
	soft = parse_limit(soft_text);
	hard = parse_limit(hard_text);
	if (soft == UINT64_MAX) {
		doctor_say(doctor, DOCTOR_OK, "locked memory is not limited");
	} else if (has_ipc_lock(doctor->root)) {
		doctor_say(doctor, DOCTOR_OK,
			   "locked memory is limited to %" PRIu64 " KiB, but not for this user",
			   soft >> 10);
	} else if (soft > DOCTOR_REGISTER) {
		doctor_say(doctor, DOCTOR_OK,
			   "locked memory is limited to %" PRIu64 " KiB, registering 64 MiB fits",
			   soft >> 10);
	} else {
		fix_memlock(doctor, hard);
		doctor_say(doctor, soft < TINY_LIMIT ? DOCTOR_FAIL : DOCTOR_WARN,
			   "locked memory is limited to %" PRIu64
			   " KiB, registering 64 MiB does not fit",
			   soft >> 10);
	}
}

/* Kernels since 5.12 report this through libibverbs, if that is installed. */
static bool copies_at_fork(const char *root)
{
	int (*initialized)(void) = NULL;
	int major = 0, minor = 0;
	char release[64];

	if (!*root)
		*(void **)&initialized = dlsym(RTLD_DEFAULT, "ibv_is_fork_initialized");
	if (initialized && initialized() == FORK_UNNEEDED)
		return true;
	if (tree_line(root, "", release, sizeof(release), "/proc/sys/kernel/osrelease"))
		sscanf(release, "%d.%d", &major, &minor);
	return major > 5 || (major == 5 && minor >= 12);
}

static void check_fork(struct doctor *doctor, bool copies)
{
	const char *asked = is_set("RDMAV_FORK_SAFE") ? "RDMAV_FORK_SAFE"
			    : is_set("IBV_FORK_SAFE") ? "IBV_FORK_SAFE"
						      : NULL;

	if (copies && asked) {
		doctor_fix(doctor, "unset %s", asked);
		doctor_say(doctor, DOCTOR_NOTE,
			   "%s is set, but the kernel protects registered memory at fork by itself",
			   asked);
	} else if (copies) {
		doctor_say(doctor, DOCTOR_OK,
			   "the kernel protects registered memory at fork by itself");
	} else if (asked) {
		doctor_say(doctor, DOCTOR_OK, "%s protects registered memory at fork", asked);
	} else if (doctor_param_on("FI_FORK_UNSAFE")) {
		doctor_param_fix(doctor, "FI_FORK_UNSAFE");
		doctor_say(
			doctor, DOCTOR_WARN,
			"FI_FORK_UNSAFE is set: a child process may take registered memory away from its parent");
	} else {
		doctor_fix(doctor, "export RDMAV_FORK_SAFE=1");
		doctor_say(
			doctor, DOCTOR_NOTE,
			"the kernel does not protect registered memory at fork; libfabric asks for it, other libraries may register before it does");
	}
}

static void check_huge_pages(struct doctor *doctor, bool copies)
{
	unsigned long pages = 0;
	char line[128];

	if (tree_line(doctor->root, "HugePages_Total:", line, sizeof(line), "/proc/meminfo"))
		pages = strtoul(line + strlen("HugePages_Total:"), NULL, 10);
	copies = copies && !is_set("RDMAV_FORK_SAFE") && !is_set("IBV_FORK_SAFE");
	if (copies || !pages || is_set("RDMAV_HUGEPAGES_SAFE") ||
	    doctor_param_on("FI_FORK_UNSAFE")) {
		doctor_say(doctor, DOCTOR_OK, "%lu huge pages, safe to register", pages);
		return;
	}
	doctor_fix(doctor, "export RDMAV_HUGEPAGES_SAFE=1");
	doctor_say(
		doctor, DOCTOR_WARN,
		"%lu huge pages: protection at fork takes them for small ones, so that registering them fails",
		pages);
}

/*
 * Tries what the library does: the system call, without the flag if that is unknown, then the
 * device.
 */
static int open_userfaultfd(bool *old)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY), dev, err;

	*old = fd < 0 && errno == EINVAL;
	if (*old)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	err = errno;
	dev = fd < 0 ? open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) : -1;
	if (dev >= 0) {
		fd = ioctl(dev, NEW_USERFAULTFD, O_CLOEXEC);
		close(dev);
	}
	errno = err;
	return fd;
}

/* Returns 0 if the kernel can watch memory without making anyone wait, or EOPNOTSUPP. */
static int try_userfaultfd(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)at, .len = page },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int err = 0;

	if (at == MAP_FAILED)
		return 0;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		err = EOPNOTSUPP;
	munmap(at, page);
	return err;
}

void doctor_userfaultfd(struct doctor *doctor, int err, bool old)
{
	if (!err) {
		doctor_say(
			doctor, DOCTOR_OK,
			"the kernel reports freed memory, so buffers of large messages stay registered");
		return;
	}
	if (err == ENOSYS)
		doctor_fix(
			doctor,
			"boot a kernel with CONFIG_USERFAULTFD=y, or let the container's seccomp profile allow userfaultfd");
	else if (err == EOPNOTSUPP)
		doctor_fix(
			doctor,
			"boot a kernel whose userfaultfd has write protection on this processor: on aarch64, Linux 6.10 or later");
	else if (old)
		doctor_fix(doctor, "sysctl -w vm.unprivileged_userfaultfd=1");
	else
		doctor_fix(
			doctor,
			"start the container with --device /dev/userfaultfd, or with a seccomp profile that allows userfaultfd");
	doctor_say(
		doctor, DOCTOR_WARN,
		"userfaultfd %s (%s): each large message of FI_EP_RDM registers its buffer again, which is slow",
		err == EOPNOTSUPP ? "cannot watch memory" : "is refused", strerror(err));
}

/* Checks this host only, because files do not tell. */
static void check_userfaultfd(struct doctor *doctor)
{
	bool old;
	int fd;

	if (*doctor->root)
		return;
	fd = open_userfaultfd(&old);
	doctor_userfaultfd(doctor, fd < 0 ? errno : try_userfaultfd(fd), old);
	if (fd >= 0)
		close(fd);
}

void doctor_memory(struct doctor *doctor)
{
	bool copies = copies_at_fork(doctor->root);

	doctor->topic = "memory";
	check_memlock(doctor);
	check_fork(doctor, copies);
	check_huge_pages(doctor, copies);
	check_userfaultfd(doctor);
}
