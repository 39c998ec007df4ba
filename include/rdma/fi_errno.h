/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Error numbers of the fabric interfaces. The names below FI_ERRNO_OFFSET are the system's
 * errno values; the others exist only here. Calls return them negated.
 */

#ifndef FI_ERRNO_H
#define FI_ERRNO_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FI_SUCCESS	 0
#define FI_EPERM	 EPERM	       /* operation not permitted */
#define FI_ENOENT	 ENOENT	       /* no such file or entry */
#define FI_EINTR	 EINTR	       /* interrupted system call */
#define FI_EIO		 EIO	       /* I/O error */
#define FI_E2BIG	 E2BIG	       /* argument list too long */
#define FI_EBADF	 EBADF	       /* bad file number */
#define FI_EAGAIN	 EAGAIN	       /* try again */
#define FI_ENOMEM	 ENOMEM	       /* out of memory */
#define FI_EACCES	 EACCES	       /* permission denied */
#define FI_EFAULT	 EFAULT	       /* bad address */
#define FI_EBUSY	 EBUSY	       /* object is in use */
#define FI_ENODEV	 ENODEV	       /* no such device */
#define FI_EINVAL	 EINVAL	       /* invalid argument */
#define FI_EMFILE	 EMFILE	       /* too many open files */
#define FI_ENOSPC	 ENOSPC	       /* no space left */
#define FI_ENOSYS	 ENOSYS	       /* call is not implemented */
#define FI_ENOMSG	 ENOMSG	       /* no message of desired type */
#define FI_ENODATA	 ENODATA       /* no data available, nothing matches */
#define FI_EPROTO	 EPROTO	       /* protocol error */
#define FI_EOVERFLOW	 EOVERFLOW     /* value too large */
#define FI_EMSGSIZE	 EMSGSIZE      /* message too long */
#define FI_ENOPROTOOPT	 ENOPROTOOPT   /* option not available */
#define FI_EOPNOTSUPP	 EOPNOTSUPP    /* operation not supported by this object */
#define FI_EADDRINUSE	 EADDRINUSE    /* address already in use */
#define FI_EADDRNOTAVAIL EADDRNOTAVAIL /* cannot assign requested address */
#define FI_ENETDOWN	 ENETDOWN      /* network is down */
#define FI_ENETUNREACH	 ENETUNREACH   /* network is unreachable */
#define FI_ECONNABORTED	 ECONNABORTED  /* connection aborted */
#define FI_ECONNRESET	 ECONNRESET    /* connection reset by peer */
#define FI_ENOBUFS	 ENOBUFS       /* no buffer space available */
#define FI_EISCONN	 EISCONN       /* endpoint is already connected */
#define FI_ENOTCONN	 ENOTCONN      /* endpoint is not connected */
#define FI_ESHUTDOWN	 ESHUTDOWN     /* cannot send after shutdown */
#define FI_ETIMEDOUT	 ETIMEDOUT     /* timed out */
#define FI_ECONNREFUSED	 ECONNREFUSED  /* connection refused */
#define FI_EHOSTDOWN	 EHOSTDOWN     /* host is down */
#define FI_EHOSTUNREACH	 EHOSTUNREACH  /* no route to host */
#define FI_EALREADY	 EALREADY      /* operation already in progress */
#define FI_EINPROGRESS	 EINPROGRESS   /* operation now in progress */
#define FI_EREMOTEIO	 EREMOTEIO     /* I/O error at the peer */
#define FI_ECANCELED	 ECANCELED     /* operation canceled */
#define FI_EKEYREJECTED	 EKEYREJECTED  /* key was rejected by the peer */
#define FI_EWOULDBLOCK	 EWOULDBLOCK   /* same as FI_EAGAIN */

#define FI_ERRNO_OFFSET 256

enum {
	FI_EOTHER = FI_ERRNO_OFFSET, /* unspecified error */
	FI_ETOOSMALL,		     /* provided buffer is too small */
	FI_EOPBADSTATE,		     /* not permitted in the current state */
	FI_EAVAIL,		     /* an error entry is available */
	FI_EBADFLAGS,		     /* flags not supported */
	FI_ENOEQ,		     /* missing or unavailable event queue */
	FI_EDOMAIN,		     /* invalid resource domain */
	FI_ENOCQ,		     /* missing or unavailable completion queue */
	FI_ECRC,		     /* CRC error */
	FI_ETRUNC,		     /* message was truncated */
	FI_ENOKEY,		     /* required key not available */
	FI_ENOAV,		     /* missing or unavailable address vector */
	FI_EOVERRUN,		     /* queue has been overrun */
	FI_ENORX,		     /* peer has no receive buffer */
	FI_ENOMR,		     /* no memory registration available */
	FI_EFIREWALLADDR,	     /* address is behind a firewall */
	FI_ERRNO_MAX
};

/* Accepts positive and negated error numbers; the string is static. */
const char *fi_strerror(int errnum);

#ifdef __cplusplus
}
#endif

#endif /* FI_ERRNO_H */
