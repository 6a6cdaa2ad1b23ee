module github.com/belay-hooks/belay/hooks-sdk/go

go 1.23
