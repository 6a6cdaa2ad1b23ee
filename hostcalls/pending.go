package hostcalls

import "context"

func unavailable(context.Context, *Session, *Args) (Result, error) {
	return Result{Code: int64(Unavailable)}, nil
}

var effectBlock, effectAsk, effectRewrite, effectRedact, effectClamp, effectAnnotate, effectContext, effectRetry,
	effectReply, effectArtifact, effectGrant, shellParse, pathResolve, patternMatch, findSecrets,
	toolCall, leaseRequest, leaseCheck, leaseMint, leaseRevoke, httpRequest, stateGet, statePut = unavailable, unavailable,
	unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable,
	unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable, unavailable,
	unavailable, unavailable, unavailable
