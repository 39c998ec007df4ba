# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A recipe for Spack 0.22 or later:
#   spack repo create weft && mkdir weft/packages/weft && cp package.py weft/packages/weft && spack repo add weft
#   spack install --no-checksum weft        # the tarball of `make dist` is where url says
#   spack dev-build -d CLONE weft@main      # from a clone
# A program that is linked with libfabric runs on it with LD_LIBRARY_PATH after `spack load weft`.

from spack.package import *


class Weft(AutotoolsPackage):
    """libfabric.so.1 on RDMA devices: the libfabric API of versions 1.0 to 2.6 on libibverbs and librdmacm."""

    url = "file:///usr/src/weft-0.1.0.tar.xz"

    license("BSD-2-Clause OR GPL-2.0-only")

    version("0.1.0", preferred=True)
    version("main")

    variant("verbs", default="builtin", values=("builtin", "plugin"), multi=False, description="Provider verbs")
    variant("debug", default=False, description="Without optimization")

    depends_on("c", type="build")
    depends_on("cxx", type="test")
    depends_on("pkgconfig", type="build")
    depends_on("rdma-core")
    depends_on("nettle")
    depends_on("cmocka", type="test")
    depends_on("autoconf", type="build", when="@main")
    depends_on("automake", type="build", when="@main")
    depends_on("libtool", type="build", when="@main")
    depends_on("pandoc", type="build", when="@main")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        args = self.enable_or_disable("debug")
        args.append("--enable-verbs=" + ("dl" if self.spec.satisfies("verbs=plugin") else "yes"))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)

    @property
    def libs(self):
        return find_libraries("libfabric", root=self.prefix, recursive=True)
