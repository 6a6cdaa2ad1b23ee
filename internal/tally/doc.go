// Package tally bounds how often what callers do becomes an event. The first try of a kind is due at once. Further ones
// are counted, and their number is due in intervals that grow. However many kinds there are, and however often each
// comes, the number of events per hour, and the memory, are bounded. It decides nothing about callers.
package tally
