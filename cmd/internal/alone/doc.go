// Package alone decides one event of an agent runtime in the process that the runtime has started, while
// no daemon serves the state directory: the work of the small program belay-eval. It opens the state
// directory as `belay eval` does, and says ErrMore where a configuration needs what only belay links:
// the check of signatures, and telemetry. It never decides with less than belay would.
package alone
