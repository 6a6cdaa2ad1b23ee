module example.invalid/belay/conformance

go 1.23

require github.com/belay-hooks/belay/hooks-sdk/go v0.0.0

replace github.com/belay-hooks/belay/hooks-sdk/go => ../../../../hooks-sdk/go
