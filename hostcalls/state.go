package hostcalls

type stateView struct{}
