package phases

// What tests from outside share with those inside.
var (
	Golden   = golden
	Almighty = almighty
)

const OkAction = okAction
