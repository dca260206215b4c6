# The commands of the README.  Thin: what is real lies in CMake and in the scripts.
# Every part is idempotent and takes no network when nothing is missing.

.PHONY: build setup demo test bench clean

# In CI a warning is an error; elsewhere a newer compiler's new warning must not keep a
# person from building.
build: setup
	.ci/build build -DCMAKE_BUILD_TYPE=Release $(if $(CI),-DNACRE_WERROR=ON)

setup:
	.ci/setup
	backends/wasm/fetch-wasmtime

demo: build
	.ci/demo

test: build
	.ci/test

bench: build
	@test -x tests/bench/run || { echo "make: tests/bench/run is not there" >&2; exit 1; }
	tests/bench/run

# build/deps stays: it was downloaded, and is verified by its own stamp.
clean:
	@test ! -d build || find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +
