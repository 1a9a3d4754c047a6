module github.com/otelgpu/gpureceiver/tools/versions

go 1.26.0
