module github.com/otelgpu/gpureceiver/tools/explorer

go 1.26.0

require (
	github.com/prometheus/otlptranslator v1.0.0
	github.com/yuin/goldmark v1.8.7
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect
