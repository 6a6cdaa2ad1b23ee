package statedir

// LockFor is Lock with another patience.
var LockFor = lockFor
