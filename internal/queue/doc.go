// Package queue holds the rules of the queue of what people decide, for the kernel, the stores
// and the commands: whose decision and whose order count, which requester gives way when a
// quota is full, whether two items ask the same question, and what a proposal may hold.
//
// It never stores anything and never lets an action pass. Package kernel/approvals has the
// types that embedders name.
package queue
