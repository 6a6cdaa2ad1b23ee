module gohook

go 1.23
