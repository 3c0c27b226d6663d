# What the two wrappers have in common: the plan, the clock, the record.
#
# Before this come the settings that Python wrote; after it, what is special to OCI runtimes or to CNI plugins:
#   critests_before           edit what the program will read
#   critests_call ARGUMENT…   run the program, where there is something to do afterwards
#   critests_refuse           say on the right channel that the operation failed
# Every name begins with critests_, as a variable that exists in the environment would be handed on changed. All is done
# by what the shell has built in, except where a comment says that a process is started.

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
        delay) critests_delays="$critests_delays $critests_with" ;;
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
        fail)
            critests_every=${critests_with%% *} critests_with=${critests_with#* }
            critests_is_due "$critests_every" || continue
            critests_code=${critests_with%% *} critests_message=${critests_with#* }
            ;;
        esac
    done <"$critests_plan"
}

# Count the invocations of this operation; true for every NUMBER-th. Those that run at the same moment may count as one.
critests_is_due() {
    [ "$1" -gt 1 ] || return 0
    critests_counted=0
    {
        read -r critests_counted <"$critests_counts/$critests_operation"
        critests_counted=$((${critests_counted:-0} + 1))
        echo "$critests_counted" >"$critests_counts/$critests_operation"
    } 2>/dev/null
    [ $((critests_counted % $1)) -eq 0 ]
}

# Set critests_time to CLOCK_MONOTONIC in nanoseconds. The kernel writes it at the head of /proc/timer_list, which costs
# no process; $critests_clock is a program that prints it, for where that file is hidden (one process).
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

# Do what is planned, and then what the program does. Where nothing is left to do afterwards the program takes our place.
critests_perform() {
    critests_made=0
    [ -z "$critests_record" ] || { critests_now && critests_begin=$critests_time; }
    critests_before
    # One process, which bears the mark by which it is found when the daemon is gone.
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
        # One write to a file opened for appending; where it cannot be written, the runtime is not to notice.
        { printf '%s %s %s %s %s %s %s\n' "$critests_begin" "$critests_time" "$critests_code" "$critests_made" \
            "$critests_program" "${critests_operation:--}" "${critests_id:--}" >>"$critests_records"; } 2>/dev/null
    fi
    exit "$critests_code"
}
