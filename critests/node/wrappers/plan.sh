# What the wrappers have in common: the plan, the clock, the record.
#
# Before this come the settings that Python wrote; after it, what is special to OCI runtimes, CNI plugins or monitors:
#   critests_before           edit the program's input
#   critests_call ARGUMENT…   run the program, if there is something to do afterwards
#   critests_refuse           report a failure where the caller reads it
# Every name begins with critests_, because a variable of the environment would be passed on changed. The code uses only
# shell built-ins, which start no process, unless a comment mentions one.

# Read the actions planned for $critests_operation of $critests_program. The plan is opened at each invocation, once.
critests_read_plan() {
    critests_record='' critests_delays='' critests_edits='' critests_changes='' critests_code='' critests_message=''
    critests_rewrites='' critests_skipped='' critests_signal=''
    [ -r "$critests_plan" ] || return 0
    while read -r critests_for critests_action critests_with; do
        case $critests_for in
        '*' | "$critests_operation" | "$critests_program/$critests_operation") ;;
        *) continue ;;
        esac
        case $critests_action in
        record) critests_record=yes ;;
        delay | fail)
            critests_every=${critests_with%% *} critests_with=${critests_with#* }
            critests_first=${critests_with%% *} critests_with=${critests_with#* }
            critests_is_due || continue
            case $critests_action in
            delay) critests_delays="$critests_delays $critests_with" ;;
            fail) critests_code=${critests_with%% *} critests_message=${critests_with#* } ;;
            esac
            ;;
        edit) critests_edits="$critests_edits $critests_with" ;;
        change) critests_changes="$critests_changes $critests_with" ;;
        rewrite) critests_rewrites="$critests_rewrites $critests_with" ;;
        skip)
            case " $critests_with " in
            '  ' | *" ${critests_operand:-none} "*) critests_skipped=yes ;;
            esac
            ;;
        signal)
            case " ${critests_with#* } " in
            *" ${critests_operand:-none} "*) critests_signal=${critests_with%% *} ;;
            esac
            ;;
        esac
    done <"$critests_plan"
}

# Count the invocations of this operation for this kind of action; true and noted for every $critests_every-th, from
# $critests_first on. Concurrent invocations may count as one.
critests_is_due() {
    [ "$critests_every" -gt 1 ] || return 0
    critests_counted=0
    {
        read -r critests_counted <"$critests_counts/$critests_operation.$critests_action"
        critests_counted=$((${critests_counted:-0} + 1))
        echo "$critests_counted" >"$critests_counts/$critests_operation.$critests_action"
    } 2>/dev/null
    [ $((critests_counted % critests_every)) -eq $((critests_first % critests_every)) ] || return 1
    { echo "$critests_operation" >>"$critests_counts/acted"; } 2>/dev/null
}

# Set critests_time to CLOCK_MONOTONIC in nanoseconds. /proc/timer_list has it in its head, and reading it starts no
# process. $critests_clock is a program that prints it if that file is not readable (one process).
critests_now() {
    if [ -n "$critests_clock" ]; then
        critests_time=$("$critests_clock")
        return 0
    fi
    while read -r critests_time; do
        case $critests_time in
        'now at '*) break ;;
        esac
    done </proc/timer_list
    critests_time=${critests_time#now at } critests_time=${critests_time% nsecs}
}

# Do the planned actions and run the program. If nothing is left to do afterwards, the program replaces the shell.
critests_perform() {
    critests_made=0
    [ -z "$critests_record" ] || { critests_now && critests_begin=$critests_time; }
    critests_before
    # One process. The clean-up finds it by this variable when the daemon is gone.
    # shellcheck disable=SC2086 # several numbers: sleep adds them up.
    [ -z "$critests_delays" ] || CRITESTS_THROWAWAY=$critests_state sleep $critests_delays
    if [ -n "$critests_code" ]; then
        critests_refuse
    elif [ -n "$critests_skipped" ]; then
        critests_made=$((critests_made + 1)) critests_code=0
    elif [ -n "$critests_record" ] || critests_works_afterwards; then
        critests_call "$@"
        critests_code=$?
    else
        exec "$critests_real" "$@"
    fi
    if [ -n "$critests_record" ]; then
        critests_now
        # One write to a file opened for appending, so that records do not mix; the runtime must not notice if it fails.
        { printf '%s %s %s %s %s %s %s\n' "$critests_begin" "$critests_time" "$critests_code" "$critests_made" \
            "$critests_program" "${critests_operation:--}" "${critests_id:--}" >>"$critests_records"; } 2>/dev/null
    fi
    exit "$critests_code"
}
