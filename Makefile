# SPDX-License-Identifier: Apache-2.0
# The front door. The work is done by CMake and by the scripts named here, which need only bash, git and apt.
.PHONY: demo cluster loop cluster-down test check bench format build clean

build:
	cmake --preset dev && cmake --build --preset dev
demo:
	demo/run
cluster:
	demo/cluster
loop:
	demo/loop
cluster-down:
	demo/cluster --down
test:
	tests/run
check:
	tests/run check
bench:
	tests/bench/run
format:
	git ls-files '*.c' '*.h' | xargs clang-format -i
clean:
	rm -rf build
